--[[
  What a decision about a client starts from, all of one moment.

  KEYS[1] state
  KEYS[2] order outcome, or a key that never exists
  KEYS[3] stored answer, or a key that never exists

  Returns { the store's clock in epoch ms, state, outcome, answer }; nil for what does not exist.
]]
local time = redis.call('TIME')
local clock_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
return { clock_ms, found[1], found[2], found[3] }
