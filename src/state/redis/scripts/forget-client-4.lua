--[[
  The last step of an erasure: removes the client's state, unless it has changed since it was read. Otherwise data that was
  written meanwhile would stay behind, and nothing would lead to it.

  KEYS[1] state
  KEYS[2] notes
  KEYS[3] journal of the client's partition
  KEYS[4] erasures in that journal that are not shipped yet

  ARGV[1] the stamp of the state that was read, '' for none. A damaged state may be no text that could be sent back
  ARGV[2] platform
  ARGV[3] the journal's entry of the erasure. It names no client, so that a repeated erasure does not remove it
  ARGV[4] the most erasures that wait to be shipped. Where nobody ships, the oldest are dropped

  Returns 1: erased; 0: conflict, the state is not the one that was read.
]]
local waiting_max = whole(4)
local state = redis.call('GET', KEYS[1])
if (state and redis.sha1hex(state) or '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
local id = redis.call('XADD', KEYS[3], '*', 'entry', ARGV[2] .. '  ' .. ARGV[3])
redis.call('ZADD', KEYS[4], string.match(id, '%d+'), id .. ' ' .. ARGV[3])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - waiting_max)
return 1
