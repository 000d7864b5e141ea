--[[
  Notes when a client was last seen in each of some sorted sets, with its marks, and counts who was seen there lately.

  KEYS[n] a sorted set of clients by last seen, epoch ms; as many as there are. A client with a mark stands in it once more for each
    of them: its name behind the letter of the mark, its score MARK times the number of the mark higher. So a count in a range
    of scores needs no walk over clients.

  ARGV[1] when the client is seen, epoch ms
  ARGV[2] '1' to note the client, '0' only to count
  ARGV[3] the client's marks: the sum of 1 (paying), 2 (unpaid) and 4 (blocked)
  then for each key:
    the client's name in this set
    how long a client is remembered there, ms
    how many clients are remembered there
    the marks that are counted besides, as a sum
    how many windows are counted, and each window in ms

  Returns the counts, by key, window and mark: clients seen after (not at) `when - window`, then those of them with each of the
  marks. The asking client counts as it stands now, also when it was not noted. At most as many as are remembered.
]]
-- Beyond every moment in ms.
local MARK = 1e14

local at = whole(1)
local record = whole(2) == 1
local own = whole(3)
local counts = {}
local asked = 3
for _ = 1, #KEYS do
  for n = asked + 2, asked + 5 + whole(asked + 5) do whole(n) end
  asked = asked + 5 + whole(asked + 5)
end
if asked ~= #ARGV then error('the arguments do not fit the keys') end
if at >= MARK or own > 7 then error('a moment or marks are out of range') end
local next_arg = 4

local function take()
  next_arg = next_arg + 1
  return ARGV[next_arg - 1]
end

local LETTERS = { 'p', 'u', 'b' }

local function has(marks, number) return math.floor(marks / 2 ^ (number - 1)) % 2 == 1 end

local function score_of(number, ms) return string.format('%.0f', number * MARK + ms) end

-- Forgets the clients that were last seen longest ago, where there are too many.
local function trim(key, length)
  if redis.call('ZCARD', key) <= length then return end
  local excess = redis.call('ZCOUNT', key, '-inf', '(' .. score_of(1, 0)) - length
  if excess <= 0 then return end
  for _, oldest in ipairs(redis.call('ZRANGE', key, 0, excess - 1)) do
    redis.call('ZREM', key, oldest, 'p' .. oldest, 'u' .. oldest, 'b' .. oldest)
  end
end

-- No mark is later than its client, so marks are forgotten with the clients.
local function forget_before(key, before)
  if redis.call('ZREMRANGEBYSCORE', key, '-inf', before) == 0 then return end
  for number = 1, #LETTERS do
    redis.call('ZREMRANGEBYSCORE', key, score_of(number, 0), score_of(number, before))
  end
end

-- Time may run backwards between nodes: a client's last seen never does.
local function note(key, client)
  if own == 0 then
    local is_new = redis.call('ZADD', key, 'GT', at, client) == 1
    if not is_new then redis.call('ZREM', key, 'p' .. client, 'u' .. client, 'b' .. client) end
    return is_new
  end
  local marked, unmarked = { at, client }, {}
  for number, letter in ipairs(LETTERS) do
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

for _, key in ipairs(KEYS) do
  local client = take()
  local kept_ms = tonumber(take())
  local length = tonumber(take())
  local marks = tonumber(take())
  local windows = tonumber(take())
  local seen = math.huge
  if record then
    local is_new = note(key, client)
    forget_before(key, at - kept_ms)
    if is_new then trim(key, length) end
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
    for number, letter in ipairs(LETTERS) do
      if has(marks, number) then
        local marked = has(own, number) and 1 or 0
        if count > 1 then
          local others = redis.call('ZCOUNT', key, '(' .. score_of(number, since), '(' .. score_of(number + 1, 0))
          local noted = record and marked == 1
          if not record then
            local score = redis.call('ZSCORE', key, letter .. client)
            noted = score and tonumber(score) > number * MARK + since
          end
          marked = math.min(others - (noted and 1 or 0) + marked, length)
        end
        counts[#counts + 1] = marked
      end
    end
  end
end
return counts
