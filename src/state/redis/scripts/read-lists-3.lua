--[[
  What changed in the shared lists since a number.

  KEYS[1] records: id -> text. Hash
  KEYS[2] numbers: id by the number of its last change. Sorted set
  KEYS[3] head: latest, horizon, epoch. Hash

  ARGV[1] the number
  ARGV[2] the most to give

  Returns latest, horizon, epoch ('' for none), then three for each record: id, number, text (nil: removed).
]]
local head = redis.call('HMGET', KEYS[3], 'latest', 'horizon', 'epoch')
local reply = { head[1] or '0', head[2] or '0', head[3] or '' }
local after = whole(1)
if tonumber(reply[1]) <= after then return reply end
local limit = whole(2)
local found = redis.call('ZRANGE', KEYS[2], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
for i = 1, #found, 2 do
  reply[#reply + 1] = found[i]
  reply[#reply + 1] = found[i + 1]
  reply[#reply + 1] = redis.call('HGET', KEYS[1], found[i])
end
return reply
