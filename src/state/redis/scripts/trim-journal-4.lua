--[[
  Deletes the oldest entries of a journal, because the archive has them, and all erasures among them. From now on the records
  that these entries refer to are kept, and found by their orders, only as long as decisions stay hot. Before, they were kept
  so that they could be shipped.

  KEYS[1] journal of a partition
  KEYS[2] the loss of that journal
  KEYS[3] erasures in it that are not shipped yet
  KEYS[4] the journal while it is rewritten

  ARGV[1] the id of the last entry that may be deleted
  ARGV[2] how many entries stay
  ARGV[3] how many entries one call deletes at most
  ARGV[4] the beginning of the keys of a client's records, up to the client. They are in the same slot
  ARGV[5] the beginning of the key of an order's decisions
  ARGV[6] how long decisions stay hot, ms
  ARGV[7] by how much that is shorter than the time for which they were kept, ms

  Returns how many entries were deleted.
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

-- A stream keeps the bytes of deleted entries until all entries in the same pack are deleted, so it is rewritten. A stream longer than this
-- soon loses its oldest packs anyway.
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

-- Only the last of successive calls does this, so that entries which are about to be deleted are not rewritten first.
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
    -- All records of decisions that much older are gone.
    redis.call('ZREMRANGEBYSCORE', orders, '-inf', string.format('%.0f', tonumber(at, 36) - hot_ms))
    local newest = redis.call('ZRANGE', orders, -1, -1)[1] or ''
    if string.match(newest, '%.%w(%d+%.[^.]+)$') == number .. '.' .. client then shorten(orders) end
  end
end
local last_ms, last_seq = entries[#entries][1]:match('(%d+)-(%d+)')
redis.call('XTRIM', KEYS[1], 'MINID', last_ms .. '-' .. string.format('%.0f', tonumber(last_seq) + 1))
if #entries < count then forget_erasures() end
return #entries
