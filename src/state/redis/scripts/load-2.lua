--[[
  Loads everything that a decision about a client starts from, as of one moment.

  KEYS[1] state
  KEYS[2] notes

  ARGV[1] the name of an order's note, '' for none
  ARGV[2] the name of an answer's note, '' for none
  ARGV[3] the beginning of a decision's key, up to its number. Decisions are in the same slot

  Returns the store's clock, the state, the order's note and the answer, with nil for each that does not exist. The answer is
  the record of the decision that was answered.
]]
local time = redis.call('TIME')
local state = redis.call('GET', KEYS[1])
local clock_ms = time[1] * 1000 + time[2] / 1000

-- A note is kept as "<end in hours since 1970>:<text>".
local function note(name)
  if name == '' then return false end
  local kept = redis.call('HGET', KEYS[2], name)
  if not kept then return false end
  local colon = string.find(kept, ':', 1, true)
  if tonumber(string.sub(kept, 1, colon - 1)) * 3600000 <= clock_ms then return false end
  return string.sub(kept, colon + 1)
end

local answer = note(ARGV[2])
if answer then answer = redis.call('GET', ARGV[3] .. answer) end
return { time, state, note(ARGV[1]), answer }
