--[[
  Replaces a text only if it is still the one that was read.

  KEYS[1] the register

  ARGV[1] '1' when ARGV[2] was read, '0' when there was nothing
  ARGV[2] the text that was read
  ARGV[3] the text to write

  Returns 1 when it was written, 0 when somebody else was faster.
]]
local was_there = whole(1) == 1
local current = redis.call('GET', KEYS[1])
if was_there then
  if current ~= ARGV[2] then return 0 end
elseif current then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3])
return 1
