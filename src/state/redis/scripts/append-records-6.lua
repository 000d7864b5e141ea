--[[
  Writes changes of records into a log, each under the next number.

  KEYS[1] records: id -> text. A removed record has none. Hash
  KEYS[2] numbers: each id by the number of its last change. Sorted set
  KEYS[3] removals: each removed id by the time of its removal, epoch ms. Sorted set
  KEYS[4] head: latest, horizon, epoch. Hash
  KEYS[5] parts that lead to an owner: number -> text. They are apart from the records, so that they can be forgotten. Hash
  KEYS[6] numbers of the parts that lead to this owner. Set

  ARGV[1] a random text, which becomes the epoch when there is none yet
  ARGV[2] how long a removal is kept, ms
  ARGV[3] a number. Nothing is written when a later change than this one gave a record whose id begins with ARGV[4] a text
          that does not begin with ARGV[5]. '+inf' for no such condition
  ARGV[4] the beginning of the id
  ARGV[5] the beginning of the text
  ARGV[6] the number that the first change must get, '' for any. Nothing is written when it would get another one
  ARGV[7] the part that leads to the owner of the first change, '' for none
  ARGV[8..] three for each change: the id; the number that its record must have, or ''; '+' and the text, or '-' to remove it

  Returns an item for each change, 1 when it was made and 0 when not, or nil when nothing is written.
]]
local kept_ms = whole(2)
if ARGV[3] ~= '+inf' then whole(3) end
if ARGV[6] ~= '' then whole(6) end
if (#ARGV - 7) % 3 ~= 0 then error('a change is not whole') end
for i = 8, #ARGV, 3 do
  if ARGV[i + 1] ~= '' then whole(i + 1) end
  if not string.find(ARGV[i + 2], '^[+]') and ARGV[i + 2] ~= '-' then error('a change is neither + nor -') end
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local forgotten_before = now - kept_ms
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '(' .. ARGV[3], '+inf', 'BYSCORE')) do
  local text = string.sub(id, 1, #ARGV[4]) == ARGV[4] and redis.call('HGET', KEYS[1], id)
  if text and string.sub(text, 1, #ARGV[5]) ~= ARGV[5] then return nil end
end
local first_number = tonumber(redis.call('HGET', KEYS[4], 'latest') or '0') + 1
if ARGV[6] ~= '' and tonumber(ARGV[6]) ~= first_number then return nil end
redis.call('HSETNX', KEYS[4], 'epoch', ARGV[1])
local made = {}
for i = 8, #ARGV, 3 do
  local id, expected, change = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local there = redis.call('HEXISTS', KEYS[1], id) == 1
  local number = redis.call('ZSCORE', KEYS[2], id)
  local fits = expected == '' or (there and number and tonumber(number) == tonumber(expected))
  if fits and (change ~= '-' or there) then
    local next_number = redis.call('HINCRBY', KEYS[4], 'latest', 1)
    redis.call('ZADD', KEYS[2], next_number, id)
    if change == '-' then
      redis.call('HDEL', KEYS[1], id)
      redis.call('ZADD', KEYS[3], now, id)
    else
      redis.call('HSET', KEYS[1], id, string.sub(change, 2))
      redis.call('ZREM', KEYS[3], id)
    end
    made[#made + 1] = 1
  else
    made[#made + 1] = 0
  end
end
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[5], first_number, ARGV[7])
  redis.call('SADD', KEYS[6], first_number)
end
local old = redis.call('ZRANGE', KEYS[3], '-inf', forgotten_before, 'BYSCORE', 'LIMIT', 0, 500)
local horizon = tonumber(redis.call('HGET', KEYS[4], 'horizon') or '0')
for _, id in ipairs(old) do
  horizon = math.max(horizon, tonumber(redis.call('ZSCORE', KEYS[2], id) or '0'))
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
end
if #old > 0 then redis.call('HSET', KEYS[4], 'horizon', horizon) end
return made
