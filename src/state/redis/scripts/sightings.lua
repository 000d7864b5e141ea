--[[
  Notes when a client was last seen in each of some sorted sets, with its marks, and counts who was seen there lately, and how
  often.

  KEYS[n] a sorted set of clients by last seen, epoch ms; as many as there are. A client with a mark stands in it once more for each
    of them: its name behind the letter of the mark, its score MARK times the number of the mark higher. So a count in a range
    of scores needs no walk over clients. Its unpaid orders are five more marks, the digits of a binary number. Above all marks stand
    the counts of verdicts by step, each in the place of the one before it that many steps ago.

  ARGV[1] when the client is seen, epoch ms
  ARGV[2] '1' to note the client and count its verdict, '2' to note it again for the same verdict, '0' only to count
  ARGV[3] the client's marks: the sum of 1 (paying), 2 (unpaid), 4 (blocked), and 8 for each unpaid order, up to 31
  then for each key:
    the client's name in this set
    how long a client is remembered there, ms
    how many clients are remembered there
    the marks that are counted besides, as a sum, and what is noted besides: 256 for verdicts, 512 for unpaid orders;
      1024 where clients are noted without marks
    how many windows are counted, and each window in ms
    where verdicts are noted, in how many windows they are counted, and for each of these the number of its steps' length, 1 or 2,
      and its first step

  Returns the counts, by key, window and mark: clients seen after (not at) `when - window`, then those of them with each of the
  marks; the asking client counts as it stands now, also when it was not noted; at most as many as are remembered. Behind all
  windows of a key the verdicts in each that was asked for.
]]
-- Beyond every moment in ms.
local MARK = 1e14

local at = whole(1)
local recording = whole(2)
local record = recording > 0
local own = whole(3)
local counts = {}
local asked = 3
for _ = 1, #KEYS do
  local notes = whole(asked + 4)
  for n = asked + 2, asked + 5 + whole(asked + 5) do whole(n) end
  asked = asked + 5 + whole(asked + 5)
  if math.floor(notes / 256) % 2 == 1 then
    local steps = whole(asked + 1)
    for n = asked + 2, asked + 1 + 2 * steps do whole(n) end
    asked = asked + 1 + 2 * steps
  end
end
if asked ~= #ARGV then error('the arguments do not fit the keys') end
if at >= MARK or own > 255 or recording > 2 then error('a moment or marks are out of range') end
local next_arg = 4

local function take()
  next_arg = next_arg + 1
  return ARGV[next_arg - 1]
end

local LETTERS = { 'p', 'u', 'b', '1', '2', '3', '4', '5' }
-- As far as every client's marks go; the unpaid orders behind them are noted only where they are asked for.
local MARKS = 3

local function has(marks, number) return math.floor(marks / 2 ^ (number - 1)) % 2 == 1 end

local function score_of(number, ms) return string.format('%.0f', number * MARK + ms) end

local function names_of(client)
  local names = { client }
  for number, letter in ipairs(LETTERS) do names[number + 1] = letter .. client end
  return unpack(names)
end

-- Forgets the clients that were last seen longest ago, where there are too many.
local function trim(key, length)
  if redis.call('ZCARD', key) <= length then return end
  local excess = redis.call('ZCOUNT', key, '-inf', '(' .. score_of(1, 0)) - length
  if excess <= 0 then return end
  for _, oldest in ipairs(redis.call('ZRANGE', key, 0, excess - 1)) do redis.call('ZREM', key, names_of(oldest)) end
end

-- No mark is later than its client, so marks are forgotten with the clients.
local function forget_before(key, before)
  if redis.call('ZREMRANGEBYSCORE', key, '-inf', before) == 0 then return end
  for number = 1, #LETTERS do
    redis.call('ZREMRANGEBYSCORE', key, score_of(number, 0), score_of(number, before))
  end
end

-- Time may run backwards between nodes: a client's last seen never does.
local function note(key, client, letters)
  if own == 0 then
    local is_new = redis.call('ZADD', key, 'GT', at, client) == 1
    if not is_new then
      if letters == 0 then return false end
      if letters == MARKS then redis.call('ZREM', key, 'p' .. client, 'u' .. client, 'b' .. client)
      else redis.call('ZREM', key, select(2, names_of(client))) end
    end
    return is_new
  end
  local marked, unmarked = { at, client }, {}
  for number = 1, letters do
    local letter = LETTERS[number]
    if has(own, number) then
      marked[#marked + 1] = score_of(number, at)
      marked[#marked + 1] = letter .. client
    else
      unmarked[#unmarked + 1] = letter .. client
    end
  end
  local is_new = redis.call('ZADD', key, 'GT', unpack(marked)) == #marked / 2
  if not is_new and #unmarked > 0 then redis.call('ZREM', key, unpack(unmarked)) end
  return is_new
end

-- Lengths of steps in ms, how many of each are kept, and where their counts stand.
local STEPS = { { 600000, 13 }, { 3600000, 25 } }
local STEP_MARK = 20
local COUNT_RANGE = 1e5

-- The score of a step whose count is 0.
local function step_score(ring, step) return (STEP_MARK + ring) * MARK + step * COUNT_RANGE end

local function count_verdict(key)
  for ring, steps in ipairs(STEPS) do
    local step = math.floor(at / steps[1])
    local name = ring .. ':' .. step % steps[2]
    local empty = step_score(ring, step)
    local score = tonumber(redis.call('ZSCORE', key, name) or '-1')
    -- A later step stands where a clock ran backwards for a day: its count is not given up for an older one.
    if score < empty + COUNT_RANGE - 1 then
      redis.call('ZADD', key, string.format('%.0f', math.max(score, empty) + 1), name)
    end
  end
end

local function verdicts_since(key, ring, first)
  local from, to = step_score(ring, first), (STEP_MARK + ring + 1) * MARK
  local found = redis.call(
    'ZRANGEBYSCORE', key, string.format('%.0f', from), '(' .. string.format('%.0f', to), 'WITHSCORES'
  )
  local sum = 0
  for n = 2, #found, 2 do sum = sum + (tonumber(found[n]) - (STEP_MARK + ring) * MARK) % COUNT_RANGE end
  return sum
end

for _, key in ipairs(KEYS) do
  local client = take()
  local kept_ms = tonumber(take())
  local length = tonumber(take())
  local marks = tonumber(take())
  local notes = math.floor(marks / 256)
  local windows = tonumber(take())
  local notes_verdicts = notes % 2 == 1
  local letters = notes >= 4 and 0 or notes >= 2 and #LETTERS or MARKS
  local asked_letters = marks % 256 < 2 ^ MARKS and MARKS or #LETTERS
  local seen = math.huge
  if record then
    local is_new = note(key, client, letters)
    forget_before(key, at - kept_ms)
    if is_new then trim(key, length) end
    if recording == 1 and notes_verdicts then count_verdict(key) end
    redis.call('PEXPIRE', key, kept_ms)
  else
    local score = redis.call('ZSCORE', key, client)
    seen = score and tonumber(score) or -math.huge
  end
  for _ = 1, windows do
    local since = at - tonumber(take())
    local count = redis.call('ZCOUNT', key, '(' .. string.format('%.0f', since), '(' .. score_of(1, 0))
    if seen <= since then count = count + 1 end
    counts[#counts + 1] = math.min(count, length)
    for number = 1, asked_letters do
      if has(marks, number) then
        local letter = LETTERS[number]
        local marked = has(own, number) and 1 or 0
        if count > 1 then
          local others = redis.call('ZCOUNT', key, '(' .. score_of(number, since), '(' .. score_of(number + 1, 0))
          local noted = record and marked == 1 and number <= letters
          if not noted then
            local score = (not record or number > letters) and redis.call('ZSCORE', key, letter .. client)
            noted = score and tonumber(score) > number * MARK + since
          end
          marked = math.min(others - (noted and 1 or 0) + marked, length)
        end
        counts[#counts + 1] = marked
      end
    end
  end
  for _ = 1, notes_verdicts and tonumber(take()) or 0 do
    local ring = tonumber(take())
    local first = tonumber(take())
    counts[#counts + 1] = verdicts_since(key, ring, first)
  end
end
return counts
