--[[
  Notes a client's payment on a device where it was seen recently. sightings.lua explains marks.

  KEYS[1] clients by the time when they were last seen, epoch ms. Sorted set

  ARGV[1] the client's name in the set
  ARGV[2] the client is marked only if it was seen after this moment, epoch ms
  ARGV[3] '1' when the client's newest order with an outcome is unpaid nevertheless

  Returns 1 when the client was marked, otherwise 0.
]]
-- The same scores as in sightings.lua.
local MARK = 1e14

local since = whole(2)
local is_unpaid = whole(3) == 1
local seen = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '-1')
if seen <= since then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', MARK + seen), 'p' .. ARGV[1])
if not is_unpaid then redis.call('ZREM', KEYS[1], 'u' .. ARGV[1]) end
return 1
