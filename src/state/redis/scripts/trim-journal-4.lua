--[[
  Forgets the oldest entries of a journal, because they are kept elsewhere, and all erasures among them. The records that they refer to are kept, and
  found by their orders, no longer than decisions stay hot from now on; until here they were kept for whoever ships them.

  KEYS[1] journal of a partition
  KEYS[2] what it lost
  KEYS[3] erasures in it that nobody has shipped
  KEYS[4] the journal while it is written anew

  ARGV[1] id of the last entry that may go
  ARGV[2] entries that stay
  ARGV[3] how many entries to remove at once
  ARGV[4] what stands before a client in the keys of its records; in the same slot
  ARGV[5] what stands before an order in the key of its decisions
  ARGV[6] decisions stay hot for, ms
  ARGV[7] by how much less than they were meant to be kept that is, ms

  Returns how many were removed.
]]
if not ARGV[1]:match('^%d+%-%d+$') then error('argument 1 is no place in a journal') end
local kept = whole(2)
local count = whole(3)
local hot_ms = whole(6)
local shorter_ms = whole(7)

local function before(a, b)
  local a_ms, a_seq = a:match('(%d+)-(%d+)')
  local b_ms, b_seq = b:match('(%d+)-(%d+)')
  if a_ms ~= b_ms then return tonumber(a_ms) < tonumber(b_ms) end
  return tonumber(a_seq) <= tonumber(b_seq)
end

local function shorten(key)
  local left_ms = redis.call('PTTL', key)
  if left_ms > hot_ms then redis.call('PEXPIRE', key, math.max(1, left_ms - shorter_ms)) end
end

local lost = redis.call('HGET', KEYS[2], 'to')
if lost and before(lost, ARGV[1]) then redis.call('UNLINK', KEYS[2]) end

-- A stream keeps the bytes of deleted entries until all that were packed with them are gone. A longer one loses its oldest soon.
local REWRITTEN_MAX = 4000

local function write_anew()
  if redis.call('XLEN', KEYS[1]) > REWRITTEN_MAX then return end
  local staying = redis.call('XRANGE', KEYS[1], '-', '+')
  if #staying == 0 then return end
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  redis.call('UNLINK', KEYS[4])
  for _, entry in ipairs(staying) do redis.call('XADD', KEYS[4], entry[1], unpack(entry[2])) end
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then redis.call('XSETID', KEYS[4], info[i + 1]) end
  end
  redis.call('RENAME', KEYS[4], KEYS[1])
end

-- With the last of the calls that follow each other, so that what goes anyway is not written anew before.
local function forget_erasures()
  local has_erased = false
  for _, erasure in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[1]:match('%d+'))) do
    local id = erasure:match('^%S+')
    if before(id, ARGV[1]) then
      redis.call('ZREM', KEYS[3], erasure)
      redis.call('XDEL', KEYS[1], id)
      has_erased = true
    end
  end
  if has_erased then write_anew() end
end

local excess = math.min(count, redis.call('XLEN', KEYS[1]) - kept)
local entries = excess > 0 and redis.call('XRANGE', KEYS[1], '-', ARGV[1], 'COUNT', excess) or {}
if #entries == 0 then
  forget_erasures()
  return 0
end
for _, entry in ipairs(entries) do
  local client, number, at, bucket = string.match(entry[2][2], '^%S* (%S*) (%d+)%.(%w+)%.(.+)$')
  if number then
    shorten(ARGV[4] .. client .. '.' .. number)
    local orders = ARGV[5] .. bucket
    -- Of what was decided that long before, all records are gone.
    redis.call('ZREMRANGEBYSCORE', orders, '-inf', string.format('%.0f', tonumber(at, 36) - hot_ms))
    local newest = redis.call('ZRANGE', orders, -1, -1)[1] or ''
    if string.match(newest, '%.%w(%d+%.[^.]+)$') == number .. '.' .. client then shorten(orders) end
  end
end
local last_ms, last_seq = entries[#entries][1]:match('(%d+)-(%d+)')
redis.call('XTRIM', KEYS[1], 'MINID', last_ms .. '-' .. string.format('%.0f', tonumber(last_seq) + 1))
if #entries < count then forget_erasures() end
return #entries
