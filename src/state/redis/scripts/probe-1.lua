--[[
  Tests whether a server accepts writes, with the same needs as a commit. It also exchanges reports between nodes about the
  servers that they reach: when one node cannot reach a master, another's report shows that the master is up.

  KEYS[1] the reports on this server: node -> "epoch ms of its last check:number of servers that it could not reach". Hash

  ARGV[1] how long a report counts and the hash is kept, ms
  ARGV[2] the node that asks
  ARGV[3] when that node last checked all servers, epoch ms; 0 when it never did
  ARGV[4] how many servers it could not reach then

  Returns { the store's clock in epoch ms, report, report, ... } with the reports of the other nodes that still count.
]]
local kept_ms = whole(1)
local node = ARGV[2]
local looked_ms = whole(3)
local unreached = whole(4)
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[1], node, string.format('%.0f:%.0f', looked_ms, unreached))
redis.call('PEXPIRE', KEYS[1], kept_ms)
local told = redis.call('HGETALL', KEYS[1])
local answer = { now_ms }
for i = 1, #told, 2 do
  local at_ms = tonumber(string.match(told[i + 1], '^(%d+):'))
  if told[i] ~= node then
    if at_ms < now_ms - kept_ms then redis.call('HDEL', KEYS[1], told[i]) else answer[#answer + 1] = told[i + 1] end
  end
end
return answer
