--[[
  Notes a payment of a client where it was seen lately; see sightings.lua for what a mark is.

  KEYS[1] a sorted set of clients by last seen, epoch ms

  ARGV[1] the client's name in it
  ARGV[2] only a client seen after this is marked, epoch ms
  ARGV[3] '1' where the client's newest order with a result is unpaid all the same

  Returns 1 when the client was marked, 0 when not.
]]
-- As in sightings.lua.
local MARK = 1e14

local since = whole(2)
local is_unpaid = whole(3) == 1
local seen = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '-1')
if seen <= since then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', MARK + seen), 'p' .. ARGV[1])
if not is_unpaid then redis.call('ZREM', KEYS[1], 'u' .. ARGV[1]) end
return 1
