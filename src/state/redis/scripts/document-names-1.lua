--[[
  The names in a collection of documents; forgets those whose document has expired.

  KEYS[1] names of the collection by when they were last written, epoch ms

  ARGV[1] what stands before a name in its document's key; in the same slot
  ARGV[2] names written after this are kept, epoch ms: a document is written right after its name

  Returns the names.
]]
local prefix = ARGV[1]
local kept_after = tonumber(ARGV[2])
local names = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('EXISTS', prefix .. name) == 1 then
    names[#names + 1] = name
  elseif tonumber(redis.call('ZSCORE', KEYS[1], name)) <= kept_after then
    redis.call('ZREM', KEYS[1], name)
  end
end
return names
