--[[
  Replaces or removes a text only if it is still the text that was read.

  KEYS[1] the text

  ARGV[1] the stamp of the text that was read: the sha1 of its bytes, '' when there was none
  ARGV[2] '1' to write ARGV[3], '0' to remove the text
  ARGV[3] the next text
  ARGV[4] how long the text is kept, ms; '' to keep the present expiry

  Returns 1 when the text was replaced or removed, 0 when it has changed.
]]
local removes = whole(2) == 0
if ARGV[4] ~= '' then whole(4) end
local current = redis.call('GET', KEYS[1])
if (current and redis.sha1hex(current) or '') ~= ARGV[1] then return 0 end
if removes then
  redis.call('UNLINK', KEYS[1])
elseif ARGV[4] == '' then
  redis.call('SET', KEYS[1], ARGV[3], 'KEEPTTL')
else
  redis.call('SET', KEYS[1], ARGV[3], 'PX', whole(4))
end
return 1
