--[[
  Notes in some sorted sets when a client was last seen, with its marks. Counts the clients that were seen there recently, and
  their verdicts.

  KEYS[n] clients by the time when they were last seen, epoch ms. Sorted set; any number of them
    For each mark, the set has a further member for the client: the letter of the mark and the client's name. Its score is higher by
    1e14 times the number of the mark, so that counting a range of scores needs no walk over clients. The number of a client's
    unpaid orders is held by five more marks, the digits of a binary number. Above all marks are two texts with the verdicts by
    step, one for steps of ten minutes and one for steps of an hour.

  A moment is a text of 14 digits, epoch ms. A score is the number of a mark followed by a moment. They are texts, because Redis
  spends a fifth of the time of a count on printing a number.

  ARGV[1] when the client is seen, a moment
  ARGV[2] '1' to note the client and count its verdict, '2' to note it again for the same verdict, '0' only to count
  ARGV[3] the client's name in these sets
  ARGV[4] the letters of the client's marks: 'p' paying, 'u' unpaid, 'b' blocked, and of its unpaid orders '1' for 1, '2' for 2,
    '3' for 4, '4' for 8, '5' for 16
  then for each key:
    the letters of the marks that are counted besides the clients; the letters of unpaid orders all or none
    the letters of the marks that are noted there; the letters of unpaid orders all or none; 'v' where verdicts are counted
    the number of windows, then the first moment of each; the order from the longest window on costs least
    with a 'v': the number of windows in which verdicts are counted, then for each the kind of its steps (1 or 2) and its first
      step

  KEPT_MS      how long a client is remembered in a set
  CLIENTS_MAX  how many clients a set remembers

  Returns the counts, by key and window: the clients seen in the window, then those with each of the marks, then the sum of
  unpaid orders. The asking client counts with its present marks, even when it was not noted. No count is above CLIENTS_MAX. After
  all windows of a key come the verdicts in each window that was asked for.
]]
local call, find = redis.call, string.find
local moment, recording, client, own = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- Checked without whole(), which costs as much as a command. A text that is no number fails here, and NaN differs from itself.
local sum, last = moment + recording, 4
for _ = 1, #KEYS do
  local first = last + 3
  last = first + ARGV[first]
  if find(ARGV[first - 1], 'v', 1, true) then last = last + 1 + 2 * ARGV[last + 1] end
  for n = first, last do sum = sum + ARGV[n] end
end
if sum ~= sum or last ~= #ARGV then error('the arguments do not fit the keys') end
if #moment ~= 14 then error('a moment is out of range') end

local LETTERS = { 'p', 'u', 'b', '1', '2', '3', '4', '5' }
local NUMBERS = { p = '1', u = '2', b = '3', ['1'] = '4', ['2'] = '5', ['3'] = '6', ['4'] = '7', ['5'] = '8' }
-- The number of unpaid orders that a mark stands for.
local ORDERS = { ['1'] = 1, ['2'] = 2, ['3'] = 4, ['4'] = 8, ['5'] = 16 }
local LAST_MOMENT = '99999999999999'

local at = tonumber(moment)
local record = recording ~= '0'
local next_arg = 5

local function take()
  next_arg = next_arg + 1
  return ARGV[next_arg - 1]
end

local function has(letters, letter) return find(letters, letter, 1, true) ~= nil end

local own_orders = 0
for letter in string.gmatch(own, '%d') do own_orders = own_orders + ORDERS[letter] end

-- Removes the clients whose last sighting is oldest, when there are too many.
local function trim(key)
  if call('ZCARD', key) <= CLIENTS_MAX then return end
  local excess = call('ZCOUNT', key, '-inf', LAST_MOMENT) - CLIENTS_MAX
  if excess <= 0 then return end
  for _, oldest in ipairs(call('ZRANGE', key, 0, excess - 1)) do
    local names = { oldest }
    for _, letter in ipairs(LETTERS) do names[#names + 1] = letter .. oldest end
    call('ZREM', key, unpack(names))
  end
end

-- No mark is newer than its client's sighting, so marks are removed together with clients.
local function forget_before(key, before)
  if call('ZREMRANGEBYSCORE', key, '-inf', before) == 0 then return end
  for _, number in pairs(NUMBERS) do
    call('ZREMRANGEBYSCORE', key, number .. '00000000000000', number .. before)
  end
end

-- Returns the scores and names of the client and of its marks among these letters, and the names of the marks that it does not have.
local function names_noted(noted)
  local marked, unmarked = { moment, client }, {}
  for letter in string.gmatch(noted, '[^v]') do
    if has(own, letter) then
      marked[#marked + 1] = NUMBERS[letter] .. moment
      marked[#marked + 1] = letter .. client
    else
      unmarked[#unmarked + 1] = letter .. client
    end
  end
  return marked, unmarked
end

-- Clocks of nodes differ, but the time of a client's last sighting never goes back.
local function note(key, marked, unmarked)
  local is_new = call('ZADD', key, 'GT', unpack(marked)) == #marked / 2
  if not is_new and #unmarked > 0 then call('ZREM', key, unpack(unmarked)) end
  return is_new
end

-- Each ring of steps is one member: its digit, its newest step in four bytes, then the counts of that step and of the earlier ones, the
-- newest first, in two bytes each. A member stays below 64 bytes, because a longer one makes a small set many times as large.
local RINGS = {
  { digit = '1', step_ms = 600000, kept = 13, score = '2100000000000000' },
  { digit = '2', step_ms = 3600000, kept = 25, score = '2200000000000000' },
}
local NO_COUNT = '\0\0'

local function count_up(ring, text)
  local step = math.floor(at / ring.step_ms)
  local newest = text and struct.unpack('>I4', text, 2) or step
  local counts = text and string.sub(text, 6) or ''
  if math.abs(step - newest) >= ring.kept then
    -- This also happens after a clock was ahead by as much. Its counts must not keep others from counting.
    newest, counts = step, ''
  elseif step > newest then
    newest, counts = step, string.rep(NO_COUNT, step - newest) .. counts
  end
  local place = 2 * (newest - step)
  counts = counts .. string.rep('\0', place + 2 - #counts)
  local count = math.min(struct.unpack('>I2', counts, place + 1) + 1, 65535)
  local older = string.sub(counts, place + 3, 2 * ring.kept)
  return ring.digit .. struct.pack('>I4', newest) .. string.sub(counts, 1, place) .. struct.pack('>I2', count) .. older
end

-- Returns the texts of the rings by their digits. With `counts_up`, the verdict of this moment is added to each.
local function verdict_rings(key, counts_up)
  local found = call('ZRANGEBYSCORE', key, RINGS[1].score, '+inf')
  local texts = {}
  for _, text in ipairs(found) do texts[string.sub(text, 1, 1)] = text end
  if not counts_up then return texts end
  local changed = {}
  for _, ring in ipairs(RINGS) do
    local text = count_up(ring, texts[ring.digit])
    texts[ring.digit] = text
    changed[#changed + 1] = ring.score
    changed[#changed + 1] = text
  end
  if #found > 0 then call('ZREM', key, unpack(found)) end
  call('ZADD', key, unpack(changed))
  return texts
end

local function verdicts_since(ring, text, first)
  local newest = text and struct.unpack('>I4', text, 2) or 0
  if newest < first or newest - math.floor(at / ring.step_ms) >= ring.kept then return 0 end
  local bytes = { string.byte(text, 6, 5 + 2 * (newest - first + 1)) }
  local verdicts = 0
  for n = 1, #bytes, 2 do verdicts = verdicts + 256 * bytes[n] + bytes[n + 1] end
  return verdicts
end

-- Counts the other clients with a mark since a moment. `none` remembers the moment since which nobody has it.
local function others_with(key, letter, since, noted, none)
  if none[letter] and since >= none[letter] then return 0 end
  local number = NUMBERS[letter]
  local others = call('ZCOUNT', key, number .. since, number .. LAST_MOMENT)
  if others > 0 then
    if record and has(noted, letter) then
      if has(own, letter) then others = others - 1 end
    else
      local score = call('ZSCORE', key, letter .. client)
      if score and tonumber(score) >= tonumber(number .. since) then others = others - 1 end
    end
  end
  if others == 0 then none[letter] = since end
  return others
end

local counts = {}

local function tell(count) counts[#counts + 1] = math.min(count, CLIENTS_MAX) end

-- Counts all windows of a key. Two windows with the same number of clients have the same clients, and so the same counts.
local function count_windows(key, counted, noted, seen)
  local none, alone = {}, math.huge
  local others_before, first_before
  for _ = 1, tonumber(take()) do
    local since = take()
    local from = tonumber(since)
    local others = 0
    if from < alone then
      others = call('ZCOUNT', key, since, LAST_MOMENT) - (seen >= from and 1 or 0)
      if others == 0 then alone = from end
    end
    local first = #counts + 1
    if others == others_before then
      for n = first_before, first - 1 do counts[#counts + 1] = counts[n] end
    else
      tell(others + 1)
      local orders = has(counted, '1') and own_orders
      for letter in string.gmatch(counted, '.') do
        local with = others > 0 and others_with(key, letter, since, noted, none) or 0
        if ORDERS[letter] then orders = orders + with * ORDERS[letter]
        else tell(with + (has(own, letter) and 1 or 0)) end
      end
      if orders then tell(orders) end
    end
    others_before, first_before = others, first
  end
end

local before = record and string.format('%014.0f', math.max(0, at - KEPT_MS))
local marked, unmarked, marked_for

for _, key in ipairs(KEYS) do
  local counted = take()
  local noted = take()
  local seen = math.huge
  if record then
    if noted ~= marked_for then
      marked, unmarked = names_noted(noted)
      marked_for = noted
    end
    local is_new = note(key, marked, unmarked)
    forget_before(key, before)
    if is_new then trim(key) end
    call('PEXPIRE', key, KEPT_MS)
  else
    local score = call('ZSCORE', key, client)
    seen = score and tonumber(score) or -math.huge
  end

  count_windows(key, counted, noted, seen)
  if has(noted, 'v') then
    local windows = tonumber(take())
    local counts_up = recording == '1'
    local rings = (counts_up or windows > 0) and verdict_rings(key, counts_up)
    for _ = 1, windows do
      local ring = RINGS[tonumber(take())]
      counts[#counts + 1] = verdicts_since(ring, rings[ring.digit], tonumber(take()))
    end
  end
end
return counts
