--[[
  Writes all parts of a client's change at once, or none of them.

  KEYS[1] state
  KEYS[2] journal of the client's partition
  KEYS[3] decision record, or a key that is never written
  KEYS[4] decisions by their orders: a bucket of orders, by time; or a key that is never written
  KEYS[5] the installation that the partition belongs to, and a member for each shape that is stored in it
  Few commits write notes, the shape of the record or the loss of the journal. The names of those keys are made from the others.

  ARGV[1]  the last moment at which the commit may be applied, epoch ms of the store's clock. The caller has given up a
           command that lay in the socket of a stopped Redis, so it must not be applied later
  ARGV[2]  the state as it was read, '' for none
  ARGV[3]  the next state
  ARGV[4]  the line of the journal: platform, client and entry, separated by spaces
  ARGV[5]  decision record, '' for none
  ARGV[6]  the note of the decision under its order
  ARGV[7]  the time of the decision, epoch ms
  ARGV[8]  the member of KEYS[5] that must be there: the installation, or the member for the record's shape
  ARGV[9]  the shape, '' when it is believed to be stored or none is needed
  ARGV[10] '' for a commit that tidies nothing. Otherwise about how many entries this journal keeps: older ones are dropped and
           noted as lost. Negative when the server is short of memory: the journal keeps as many as its absolute value says,
           and above that each new entry drops two
  ARGV[11] and those after it: the name, the text and the lifetime in ms of each note

  Constants of the node. A constant that is only passed to a command is a text, because Redis takes a microsecond to format a number.
  STATE_MS            how long the state is kept
  RECORD_MS, KEPT_MS  how long records are kept and found by their orders, unless they are shipped before: as text and as number
  SHAPE_MS            how long shapes are kept
  ORDERS_MAX_RANK     the rank, from the newest, of the first decision that is too many for a key: '-101' keeps a hundred
  NOTES_MAX           how many notes are kept
  INSTALLATION        the installation of the node

  Returns 1: committed; 0: conflict, the state is not the one that was read; -1: expired; -2: the shape is not stored; -3: the
  partition does not hold the installation, because it belongs to another one or its server lost it.
]]
local call = redis.call
-- Checked without whole(), which costs as much as a command. A text that is no number fails here, and NaN differs from itself.
local valid_until_ms, at_ms, journal_length = ARGV[1] + 0, ARGV[7] + 0, ARGV[10] ~= '' and ARGV[10] + 0
if valid_until_ms ~= valid_until_ms or at_ms ~= at_ms or journal_length ~= journal_length then
  error('an argument is no number')
end
if ARGV[3] == '' or ARGV[4] == '' or ARGV[8] == '' then error('a state or an entry is missing') end
if ARGV[5] ~= '' and ARGV[6] == '' then error('a decision is noted as nothing') end
if #ARGV % 3 ~= 1 then error('a note is not whole') end
for index = 13, #ARGV, 3 do whole(index) end

local time = call('TIME')
local clock_ms = time[1] * 1000 + time[2] / 1000
if clock_ms > valid_until_ms then return ticket .. ':-1' end
local is_known = call('SISMEMBER', KEYS[5], ARGV[8]) == 1
if not is_known then
  if call('SISMEMBER', KEYS[5], INSTALLATION) ~= 1 then return ticket .. ':-3' end
  if ARGV[9] == '' then return ticket .. ':-2' end
end
if (call('GET', KEYS[1]) or '') ~= ARGV[2] then return ticket .. ':0' end

if not is_known then call('SADD', KEYS[5], ARGV[8]) end
if ARGV[9] ~= '' then
  local shape = string.gsub(KEYS[2], '^journal', 'shape') .. string.match(ARGV[8], ' (.*)$')
  call('SET', shape, ARGV[9], 'PX', SHAPE_MS)
end
call('SET', KEYS[1], ARGV[3], 'PX', STATE_MS)
call('XADD', KEYS[2], '*', 'entry', ARGV[4])
if ARGV[5] ~= '' then
  call('SET', KEYS[3], ARGV[5], 'PX', RECORD_MS)
  call('ZADD', KEYS[4], ARGV[7], ARGV[6])
  call('PEXPIRE', KEYS[4], RECORD_MS)
end
if journal_length then
  -- Some entries at a time.
  local length, surplus = call('XLEN', KEYS[2]), 0
  if journal_length >= 0 and length > journal_length + 100 then
    surplus = math.min(length - journal_length - 1, 200)
  elseif journal_length < 0 and length > 2 - journal_length then
    surplus = 2
  end
  if surplus > 0 then
    local lost = string.gsub(KEYS[2], '^journal', 'journal-loss')
    local last = call('XRANGE', KEYS[2], '-', '+', 'COUNT', surplus)
    call('HSETNX', lost, 'from', last[1][1])
    call('HSET', lost, 'to', last[#last][1])
    call('HINCRBY', lost, 'entries', call('XTRIM', KEYS[2], 'MAXLEN', length - surplus))
  end
  if ARGV[5] ~= '' then
    call('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', at_ms - KEPT_MS))
    call('ZREMRANGEBYRANK', KEYS[4], 0, ORDERS_MAX_RANK)
  end
end
if #ARGV < 11 then return ticket .. ':1' end

local notes = string.gsub(KEYS[1], '^s', 'n')

-- The end of a note is kept in hours, which takes fewer digits.
local HOUR_MS = 3600000

local function end_of(note)
  return tonumber(string.match(note, '^%d+')) * HOUR_MS
end

-- A device is noted for a day longer than needed, so that most verdicts need not note it again.
local SLACK_MS = 86400000

-- Removes notes that have ended, among a few that are picked at random. With too many notes, those of the few that end first go too.
local function tidy_notes()
  local length = call('HLEN', notes)
  local some = call('HRANDFIELD', notes, 32, 'WITHVALUES')
  local kept = {}
  for i = 1, #some, 2 do
    local ends = end_of(some[i + 1])
    if ends <= clock_ms then
      length = length - call('HDEL', notes, some[i])
    else
      kept[#kept + 1] = { name = some[i], ends = ends }
    end
  end
  if length <= NOTES_MAX then return end
  table.sort(kept, function(a, b) return a.ends < b.ends end)
  for i = 1, math.min(#kept, length - NOTES_MAX) do call('HDEL', notes, kept[i].name) end
end

local function write_note(name, text, kept_ms)
  local slack_ms = text == '' and SLACK_MS or 0
  local known = text == '' and call('HGET', notes, name)
  if known and end_of(known) >= clock_ms + kept_ms then return false end
  local ends = math.ceil((clock_ms + kept_ms + slack_ms) / HOUR_MS)
  call('HSET', notes, name, string.format('%d:%s', ends, text))
  return true
end

local longest_ms = 0
for index = 11, #ARGV, 3 do
  if write_note(ARGV[index], ARGV[index + 1], tonumber(ARGV[index + 2])) then
    longest_ms = math.max(longest_ms, tonumber(ARGV[index + 2]) + SLACK_MS)
  end
end
if longest_ms > 0 then
  -- The whole hash expires with its last note.
  if call('PTTL', notes) < longest_ms then call('PEXPIRE', notes, longest_ms) end
  tidy_notes()
end
return ticket .. ':1'
