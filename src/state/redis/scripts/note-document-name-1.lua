--[[
  Notes a name in its collection, by the server's clock; the document is written right after it.

  KEYS[1] names of the collection by when they were last written, epoch ms

  ARGV[1] the name

  Returns nothing.
]]
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), ARGV[1])
