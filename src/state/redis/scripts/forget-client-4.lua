--[[
  The last step of erasing a client: removes the state, unless somebody changed it since it was read.
  What was written meanwhile would otherwise stay behind with nothing that leads to it.

  KEYS[1] state
  KEYS[2] notes
  KEYS[3] journal of the client's partition
  KEYS[4] erasures in it that nobody has shipped

  ARGV[1] stamp of the state as it was read, '' for none: a damaged state may be no text that could be sent back
  ARGV[2] platform
  ARGV[3] the journal's entry of the erasure; kept under no client, so that repeating an erasure leaves it
  ARGV[4] how many erasures wait to be shipped at most; where nobody ships, the oldest go

  Returns 1 forgotten, 0 conflict (the state is not what was read).
]]
local waiting_max = whole(4)
local state = redis.call('GET', KEYS[1])
if (state and redis.sha1hex(state) or '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
local id = redis.call('XADD', KEYS[3], '*', 'entry', ARGV[2] .. '  ' .. ARGV[3])
redis.call('ZADD', KEYS[4], string.match(id, '%d+'), id .. ' ' .. ARGV[3])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - waiting_max)
return 1
