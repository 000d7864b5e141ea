--[[
  Removes a client's entries from one stretch of a journal.

  KEYS[1] journal of the client's partition

  ARGV[1] client
  ARGV[2] where the stretch begins: '-', or what the call before returned
  ARGV[3] how many entries to look at

  Returns where the next stretch begins, '' after the last one.
]]
local count = whole(3)
local entries = redis.call('XRANGE', KEYS[1], ARGV[2], '+', 'COUNT', count)
for _, entry in ipairs(entries) do
  if string.match(entry[2][2], '^%S* (%S*)') == ARGV[1] then redis.call('XDEL', KEYS[1], entry[1]) end
end
if #entries < count then return '' end
return '(' .. entries[#entries][1]
