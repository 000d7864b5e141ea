--[[
  Notes an entry of the audit, and drops the oldest one of the same owner when that has too many.

  KEYS[1] the audit
  KEYS[2] ids of the owner's entries, oldest first

  ARGV[1] the entry
  ARGV[2] the hash of the client that it is about, or an empty text
  ARGV[3] how many entries of the owner stay

  Returns nothing.
]]
local max = tonumber(ARGV[3])
local id = redis.call('XADD', KEYS[1], '*', 'entry', ARGV[1], 'client', ARGV[2])
if redis.call('RPUSH', KEYS[2], id) > max then
  redis.call('XDEL', KEYS[1], redis.call('LPOP', KEYS[2]))
end
