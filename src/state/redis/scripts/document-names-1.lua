--[[
  Notes a name in a collection of documents, directly before the document is written. Or lists the names, and removes those
  whose document has expired. Both go by the server's clock.

  KEYS[1] names of the collection by the time of their last write, epoch ms. Sorted set

  ARGV[1] the beginning of a document's key, up to its name. The documents are in the same slot
  ARGV[2] names that were written within this time are kept, ms, because a document is written after its name
  ARGV[3] the name to note, '' to list the names

  Returns the names, or nothing when a name was noted.
]]
local prefix = ARGV[1]
local grace_ms = whole(2)
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[1], now_ms, ARGV[3])
  return
end
local names = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('EXISTS', prefix .. name) == 1 then
    names[#names + 1] = name
  elseif tonumber(redis.call('ZSCORE', KEYS[1], name)) <= now_ms - grace_ms then
    redis.call('ZREM', KEYS[1], name)
  end
end
return names
