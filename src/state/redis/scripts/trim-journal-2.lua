--[[
  Forgets the oldest entries of a journal, because they are kept elsewhere.

  KEYS[1] journal of a partition
  KEYS[2] what it lost

  ARGV[1] id of the last entry that may go
  ARGV[2] entries that stay
  ARGV[3] how many entries to remove at once

  Returns how many were removed.
]]
local kept = tonumber(ARGV[2])
local count = tonumber(ARGV[3])

local function before(a, b)
  local a_ms, a_seq = a:match('(%d+)-(%d+)')
  local b_ms, b_seq = b:match('(%d+)-(%d+)')
  if a_ms ~= b_ms then return tonumber(a_ms) < tonumber(b_ms) end
  return tonumber(a_seq) <= tonumber(b_seq)
end

local lost = redis.call('HGET', KEYS[2], 'to')
if lost and before(lost, ARGV[1]) then redis.call('UNLINK', KEYS[2]) end

local excess = math.min(count, redis.call('XLEN', KEYS[1]) - kept)
if excess <= 0 then return 0 end
local entries = redis.call('XRANGE', KEYS[1], '-', ARGV[1], 'COUNT', excess)
if #entries == 0 then return 0 end
for _, entry in ipairs(entries) do redis.call('XDEL', KEYS[1], entry[1]) end
return #entries
