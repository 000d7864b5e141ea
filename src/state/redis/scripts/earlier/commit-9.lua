--[[
  Writes all parts of a change to a client at once, or nothing; in the layout of keys before this one, which nodes of the
  version before read and write, too.

  KEYS[1] state
  KEYS[2] journal of the client's partition
  KEYS[3] owned: what erasure must look for
  KEYS[4] decision record       \
  KEYS[5] the order's decisions  | a key that is never written
  KEYS[6] order outcome          | where the change has no such part
  KEYS[7] stored answer         /
  KEYS[8] what the journal lost to its bound
  KEYS[9] exists once the partition's clients may be taken into the layout of today

  ARGV[1]  valid until, epoch ms of the store's clock: a command that lay in the socket of a stopped
           Redis was given up by its caller and must not be applied later
  ARGV[2]  the state as it was read, '' for none
  ARGV[3]  the next state
  ARGV[4]  journal: kind
  ARGV[5]  journal: platform
  ARGV[6]  journal: client
  ARGV[7]  journal: entry; of a verdict this is the decision record
  ARGV[8]  the decision's number, '' for no decision
  ARGV[9]  owned name of the decision's order, '' for none
  ARGV[10] order outcome, '' for none
  ARGV[11] owned name of the outcome's order, '' for none
  ARGV[12] stored answer, '' for none
  ARGV[13] owned name of the answer, '' for none
  ARGV[14] state kept for, ms
  ARGV[15] decisions and outcomes kept for, ms
  ARGV[16] answers kept for, ms
  ARGV[17] entries kept in this journal, about: more are pushed out, and noted as lost
  ARGV[18] decisions listed for an order
  ARGV[19] names kept in owned
  ARGV[20] sightings kept for, ms
  ARGV[21] and those after it: owned names of the devices on which the decision was noted

  Returns 1 committed, 0 conflict (the state is not what was read), -1 expired, -3 the clients are moved.
]]
local valid_until_ms = tonumber(ARGV[1])
local state_ms = tonumber(ARGV[14])
local decision_ms = tonumber(ARGV[15])
local answer_ms = tonumber(ARGV[16])
local journal_length = tonumber(ARGV[17])
local decisions_per_order = tonumber(ARGV[18])
local owned_length = tonumber(ARGV[19])
local sighting_ms = tonumber(ARGV[20])

local time = redis.call('TIME')
local clock_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if clock_ms > valid_until_ms then return -1 end
if redis.call('EXISTS', KEYS[9]) == 1 then return -3 end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[2] then return 0 end

local function own(name, kept_ms)
  redis.call('ZADD', KEYS[3], 'GT', clock_ms + kept_ms, name)
end

redis.call('SET', KEYS[1], ARGV[3], 'PX', state_ms)
redis.call('XADD', KEYS[2], '*', 'kind', ARGV[4], 'platform', ARGV[5], 'client', ARGV[6], 'entry', ARGV[7])
-- Some at a time: most commits then cost no more than asking for the length.
if redis.call('XLEN', KEYS[2]) > journal_length + 100 then
  local last = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 100)
  redis.call('HSETNX', KEYS[8], 'from', last[1][1])
  redis.call('HSET', KEYS[8], 'to', last[#last][1])
  redis.call('HINCRBY', KEYS[8], 'entries', redis.call('XTRIM', KEYS[2], 'MAXLEN', journal_length + 1))
end
if ARGV[8] ~= '' then
  redis.call('SET', KEYS[4], ARGV[7], 'PX', decision_ms)
  redis.call('ZADD', KEYS[5], ARGV[8], ARGV[8])
  redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -decisions_per_order - 1)
  redis.call('PEXPIRE', KEYS[5], decision_ms)
  own(ARGV[9], decision_ms)
  for index = 21, #ARGV do own(ARGV[index], sighting_ms) end
end
if ARGV[10] ~= '' then
  redis.call('SET', KEYS[6], ARGV[10], 'PX', decision_ms)
  own(ARGV[11], decision_ms)
end
if ARGV[12] ~= '' then
  redis.call('SET', KEYS[7], ARGV[12], 'PX', answer_ms)
  own(ARGV[13], answer_ms)
end
if ARGV[8] ~= '' or ARGV[10] ~= '' or ARGV[12] ~= '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', clock_ms)
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -owned_length - 1)
  redis.call('PEXPIRE', KEYS[3], decision_ms)
end
return 1
