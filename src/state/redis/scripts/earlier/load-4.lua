--[[
  What a decision about a client starts from, all of one moment; in the layout of keys before this one.

  KEYS[1] state
  KEYS[2] order outcome, or a key that never exists
  KEYS[3] stored answer, or a key that never exists
  KEYS[4] exists once the partition's clients may be taken into the layout of today

  Returns { the store's clock in epoch ms, 1 when the clients may be taken, state, outcome, answer }; nil for what does
  not exist.
]]
local time = redis.call('TIME')
local clock_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
return { clock_ms, redis.call('EXISTS', KEYS[4]), found[1], found[2], found[3] }
