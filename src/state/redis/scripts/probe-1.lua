--[[
  Tries whether a server takes writes; needs what a commit needs.

  KEYS[1] a key of its own

  ARGV[1] how long it is kept, ms

  Returns { the store's clock in epoch ms }.
]]
local kept_ms = whole(1)
redis.call('SET', KEYS[1], '1', 'PX', kept_ms)
local time = redis.call('TIME')
return { tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) }
