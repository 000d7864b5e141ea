--[[
  Notes a name in a collection of documents, right before the document is written; or gives the names, and forgets those whose
  document has expired. Both are by the server's clock.

  KEYS[1] names of the collection by when they were last written, epoch ms

  ARGV[1] what stands before a name in its document's key; in the same slot
  ARGV[2] names written within this are kept, ms: a document is written right after its name
  ARGV[3] the name to note; '' to ask for the names

  Returns the names that were asked for.
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
