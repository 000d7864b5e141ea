--[[
  Writes all parts of a change to a client at once, or nothing.

  KEYS[1] state
  KEYS[2] journal of the client's partition
  KEYS[3] what the journal lost to its bound
  KEYS[4] notes
  KEYS[5] decision record, or a key that is never written
  KEYS[6] shape of the record, or a key that is never written
  KEYS[7] decisions by their orders, of some orders and by when, or a key that is never written
  KEYS[8] the installation that the partition belongs to: a set of one

  ARGV[1]  valid until, epoch ms of the store's clock: a command that lay in the socket of a stopped
           Redis was given up by its caller and must not be applied later
  ARGV[2]  the state as it was read, '' for none
  ARGV[3]  the next state
  ARGV[4]  journal: kind
  ARGV[5]  journal: platform
  ARGV[6]  journal: client
  ARGV[7]  journal: entry; of a verdict only the number and the time of its decision, and the end of KEYS[7]
  ARGV[8]  decision record, '' for none
  ARGV[9]  what the decision is noted as under its order
  ARGV[10] when it was made, epoch ms
  ARGV[11] '' for a record without a shape, '0' when its shape is believed to be there, otherwise the shape
  ARGV[12] entries kept in this journal, about: more are pushed out, and noted as lost. Negative where the server is short of
           memory: so many are kept, and of more of them two go for each that comes
  ARGV[13] and those after it: name, text and how long it is kept in ms, of each note

  Constants of the node, texts where they are only handed on to a command: Redis formats a number at a microsecond each.
  STATE_MS            the state is kept for
  RECORD_MS, KEPT_MS  records are kept for, and found by their orders, unless they are shipped before: as text and as number
  SHAPE_MS            shapes are kept for
  ORDERS_MAX_RANK     the place, from the newest, of the first one that is too many for a key: '-101' keeps a hundred
  NOTES_MAX           notes kept
  INSTALLATION        the one that decides

  Returns 1 committed, 0 conflict (the state is not what was read), -1 expired, -2 the shape is not there, -3 the partition
  belongs to another installation.
]]
-- Not by whole(), which costs as much as a command: what is no number fails here, and NaN is not itself.
local valid_until_ms, at_ms, journal_length = ARGV[1] + 0, whole(10), ARGV[12] + 0
if valid_until_ms ~= valid_until_ms or journal_length ~= journal_length then error('an argument is no number') end
if ARGV[3] == '' or ARGV[4] == '' or ARGV[6] == '' or ARGV[7] == '' then error('a state or an entry is missing') end
if ARGV[8] ~= '' and ARGV[9] == '' then error('a decision is noted as nothing') end
if #ARGV % 3 ~= 0 then error('a note is not whole') end
for index = 15, #ARGV, 3 do whole(index) end

local time = redis.call('TIME')
local clock_ms = time[1] * 1000 + time[2] / 1000
if clock_ms > valid_until_ms then return -1 end
local is_ours = redis.call('SISMEMBER', KEYS[8], INSTALLATION) == 1
if not is_ours and redis.call('EXISTS', KEYS[8]) == 1 then return -3 end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[11] == '0' then
  if redis.call('EXISTS', KEYS[6]) == 0 then return -2 end
elseif ARGV[11] ~= '' then
  redis.call('SET', KEYS[6], ARGV[11], 'PX', SHAPE_MS)
end

if not is_ours then redis.call('SADD', KEYS[8], INSTALLATION) end
redis.call('SET', KEYS[1], ARGV[3], 'PX', STATE_MS)
redis.call('XADD', KEYS[2], '*', 'kind', ARGV[4], 'platform', ARGV[5], 'client', ARGV[6], 'entry', ARGV[7])
-- Some at a time: most commits then cost no more than asking for the length.
local length, surplus = redis.call('XLEN', KEYS[2]), 0
if journal_length >= 0 and length > journal_length + 100 then
  surplus = math.min(length - journal_length - 1, 200)
elseif journal_length < 0 and length > 2 - journal_length then
  surplus = 2
end
if surplus > 0 then
  local last = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', surplus)
  redis.call('HSETNX', KEYS[3], 'from', last[1][1])
  redis.call('HSET', KEYS[3], 'to', last[#last][1])
  redis.call('HINCRBY', KEYS[3], 'entries', redis.call('XTRIM', KEYS[2], 'MAXLEN', length - surplus))
end
if ARGV[8] ~= '' then
  redis.call('SET', KEYS[5], ARGV[8], 'PX', RECORD_MS)
  redis.call('ZADD', KEYS[7], ARGV[10], ARGV[9])
  redis.call('PEXPIRE', KEYS[7], RECORD_MS)
  -- At every seventeenth millisecond: this costs as much as a third of the rest. A prime, so that round times come to it too.
  if at_ms % 17 == 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', string.format('%.0f', at_ms - KEPT_MS))
    redis.call('ZREMRANGEBYRANK', KEYS[7], 0, ORDERS_MAX_RANK)
  end
end
if #ARGV < 13 then return 1 end

-- Notes end with an hour: fewer digits for each of them.
local HOUR_MS = 3600000

local function end_of(note)
  return tonumber(string.match(note, '^%d+')) * HOUR_MS
end

-- A device is noted for a day longer than it must be, so that most verdicts need not note it anew.
local SLACK_MS = 86400000

-- Forgets notes that have ended, looking at a few of many; of more than may be kept, those of the few that end first.
local function tidy_notes()
  local length = redis.call('HLEN', KEYS[4])
  local some = redis.call('HRANDFIELD', KEYS[4], 32, 'WITHVALUES')
  local kept = {}
  for i = 1, #some, 2 do
    local ends = end_of(some[i + 1])
    if ends <= clock_ms then
      length = length - redis.call('HDEL', KEYS[4], some[i])
    else
      kept[#kept + 1] = { name = some[i], ends = ends }
    end
  end
  if length <= NOTES_MAX then return end
  table.sort(kept, function(a, b) return a.ends < b.ends end)
  for i = 1, math.min(#kept, length - NOTES_MAX) do redis.call('HDEL', KEYS[4], kept[i].name) end
end

local function write_note(name, text, kept_ms)
  local slack_ms = text == '' and SLACK_MS or 0
  local known = text == '' and redis.call('HGET', KEYS[4], name)
  if known and end_of(known) >= clock_ms + kept_ms then return false end
  local ends = math.ceil((clock_ms + kept_ms + slack_ms) / HOUR_MS)
  redis.call('HSET', KEYS[4], name, string.format('%d:%s', ends, text))
  return true
end

local longest_ms = 0
for index = 13, #ARGV, 3 do
  if write_note(ARGV[index], ARGV[index + 1], tonumber(ARGV[index + 2])) then
    longest_ms = math.max(longest_ms, tonumber(ARGV[index + 2]) + SLACK_MS)
  end
end
if longest_ms > 0 then
  -- All of them leave with the last one.
  if redis.call('PTTL', KEYS[4]) < longest_ms then redis.call('PEXPIRE', KEYS[4], longest_ms) end
  tidy_notes()
end
return 1
