--[[
  Adds an entry to the audit, unless another one has its number.

  KEYS[1] the audit. Stream
  KEYS[2] what leads to payers: number -> text. Hash
  KEYS[3] numbers of the entries about the client. Set

  ARGV[1] the number
  ARGV[2] the hash of the entry before
  ARGV[3] its own hash
  ARGV[4] its body
  ARGV[5] what leads to its payer, or an empty text

  Returns 1, or 0 when the number is taken.
]]
local fields = { 'previous', ARGV[2], 'hash', ARGV[3], 'body', ARGV[4] }
local added = redis.pcall('XADD', KEYS[1], ARGV[1] .. '-0', unpack(fields))
if type(added) == 'table' and added.err then
  if string.find(added.err, 'equal or smaller', 1, true) then return 0 end
  return added
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[5])
  redis.call('SADD', KEYS[3], ARGV[1])
end
return 1
