--[[
  Tries whether a server takes writes, which needs what a commit needs, and lets nodes tell each other which servers they
  reach: where one node cannot reach a master, another one's word says that the master is there.

  KEYS[1] a hash of the server's own: node -> "epoch ms of its last look:servers that it could not reach then"

  ARGV[1] how long a word counts, and the hash is kept, ms
  ARGV[2] the node that asks
  ARGV[3] when it last looked at all servers, epoch ms; 0 when it never did
  ARGV[4] how many it could not reach then

  Returns { the store's clock in epoch ms, word, word, ... } of the other nodes, without those that count no more.
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
