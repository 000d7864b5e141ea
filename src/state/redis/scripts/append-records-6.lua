--[[
  Writes records of a log, each under the next number.

  KEYS[1] records: id -> text. Hash; a removed record has none
  KEYS[2] numbers: id by the number of its last change. Sorted set
  KEYS[3] removals: id by when it was removed, epoch ms. Sorted set
  KEYS[4] head: latest, horizon, epoch. Hash
  KEYS[5] what leads to an owner, apart from the records so that it can be forgotten: number -> text. Hash
  KEYS[6] numbers of what leads to this owner. Set

  ARGV[1] a random text, the epoch when there is none yet
  ARGV[2] how long a removal is kept, ms
  ARGV[3] a number: nothing is written when a change after it gave a record
  ARGV[4] whose id begins so
  ARGV[5] a text that does not begin so
  ARGV[6] the number that the first change must get, '' for any: nothing is written when it would get another one
  ARGV[7] what leads to the owner of the first change, '' for nothing
  ARGV[8..] three for each change: id, the number that its record must have or '', text with '+' before it, or '-'

  Returns one for each change: 1 made, 0 not; nil when nothing is written.
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
