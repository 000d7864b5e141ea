--[[
  The names in a collection of documents; forgets those whose document has expired.

  KEYS[1] names of the collection by when they were last written, epoch ms

  ARGV[1] what stands before a name in its document's key; in the same slot
  ARGV[2] names written within this are kept, ms: a document is written right after its name

  Returns the names.
]]
local prefix = ARGV[1]
local grace_ms = whole(2)
local time = redis.call('TIME')
local kept_after = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - grace_ms
local names = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('EXISTS', prefix .. name) == 1 then
    names[#names + 1] = name
  elseif tonumber(redis.call('ZSCORE', KEYS[1], name)) <= kept_after then
    redis.call('ZREM', KEYS[1], name)
  end
end
return names
