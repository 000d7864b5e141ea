--[[
  Takes a client in from the layout before this one, unless it is here already.

  KEYS[1] state
  KEYS[2] notes

  ARGV[1] valid until, epoch ms of the store's clock
  ARGV[2] the state
  ARGV[3] state kept for, ms
  ARGV[4] the longest that a note is kept, ms
  ARGV[5] and those after it: name, text and how long it is kept in ms, of each note

  Returns 1 taken in, 0 it was here already, -1 expired.
]]
local valid_until_ms = tonumber(ARGV[1])
local state_ms = tonumber(ARGV[3])
local notes_ms = tonumber(ARGV[4])
local time = redis.call('TIME')
local clock_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if clock_ms > valid_until_ms then return -1 end
if not redis.call('SET', KEYS[1], ARGV[2], 'PX', state_ms, 'NX') then return 0 end
for index = 5, #ARGV, 3 do
  local ends = math.ceil((clock_ms + tonumber(ARGV[index + 2])) / 1000)
  redis.call('HSET', KEYS[2], ARGV[index], string.format('%d:%s', ends, ARGV[index + 1]))
end
if #ARGV > 4 then redis.call('PEXPIRE', KEYS[2], notes_ms) end
return 1
