--[[
  What is to be taken of a client into the layout of today. From then on nothing in the partition is changed any more by
  whoever asks whether it may.

  KEYS[1] exists once the partition's clients may be taken
  KEYS[2] state
  KEYS[3] owned

  ARGV[1] what stands before the name in the key of an order outcome; in the same slot
  ARGV[2] what stands before the name in the key of a stored answer; in the same slot

  Returns { state } or nothing at all when there is none; after it a name, its text and how long it is kept in ms, of each
  order and answer.
]]
redis.call('SET', KEYS[1], '1')
local state = redis.call('GET', KEYS[2])
if not state or state == 'moved' then return {} end
local taken = { state }
for _, owned in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  local kind, name = string.sub(owned, 1, 1), string.sub(owned, 2)
  local key = kind == 'o' and ARGV[1] .. name or kind == 'a' and ARGV[2] .. name
  local text = key and redis.call('GET', key)
  if text then
    taken[#taken + 1] = owned
    taken[#taken + 1] = text
    taken[#taken + 1] = redis.call('PTTL', key)
  elseif not key then
    taken[#taken + 1] = owned
    taken[#taken + 1] = ''
    taken[#taken + 1] = 7 * 86400000
  end
end
return taken
