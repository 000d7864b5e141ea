--[[
  Notes when a client was last seen in each of some sorted sets, and counts who was seen there lately.

  KEYS[n] a sorted set of clients by last seen; as many as there are

  ARGV[1] when the client is seen, epoch ms
  ARGV[2] '1' to note the client, '0' only to count
  then for each key:
    the client's name in this set
    how long a client is remembered there, ms
    how many clients are remembered there
    how many windows are counted, and each window in ms

  Returns the counts, by key and window: clients seen after (not at) `when - window`, and the asking
  client also when it was not noted; at most as many as are remembered.
]]
local at = whole(1)
local record = whole(2) == 1
local counts = {}
local asked = 2
for _ = 1, #KEYS do
  for n = asked + 2, asked + 4 + whole(asked + 4) do whole(n) end
  asked = asked + 4 + whole(asked + 4)
end
if asked ~= #ARGV then error('the arguments do not fit the keys') end
local next_arg = 3

local function take()
  next_arg = next_arg + 1
  return ARGV[next_arg - 1]
end

for _, key in ipairs(KEYS) do
  local client = take()
  local kept_ms = tonumber(take())
  local length = tonumber(take())
  local windows = tonumber(take())
  if record then
    -- Time may run backwards between nodes: a client's last seen never does.
    redis.call('ZADD', key, 'GT', at, client)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', at - kept_ms)
    redis.call('ZREMRANGEBYRANK', key, 0, -length - 1)
    redis.call('PEXPIRE', key, kept_ms)
  end
  local score = redis.call('ZSCORE', key, client)
  local seen = score and tonumber(score) or -math.huge
  for _ = 1, windows do
    local since = at - tonumber(take())
    local count = redis.call('ZCOUNT', key, '(' .. string.format('%.0f', since), '+inf')
    if seen <= since then count = count + 1 end
    counts[#counts + 1] = math.min(count, length)
  end
end
return counts
