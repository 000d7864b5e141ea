--[[
  Forgets what was taken of a client, if it is still what was taken.

  KEYS[1] state

  ARGV[1] the state as it was taken
  ARGV[2] and those after it: keys of its orders and answers; in the same slot

  In the place of the state stays a mark that is no state: a node of the version before that is started by mistake must
  not take the client for a new one.
]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
redis.call('SET', KEYS[1], 'moved', 'PX', 604800000)
for index = 2, #ARGV do redis.call('UNLINK', ARGV[index]) end
