--[[
  The last step of erasing a client: removes the state, unless somebody changed it since it was read.
  What was written meanwhile would otherwise stay behind with nothing that leads to it.

  KEYS[1] state
  KEYS[2] owned: what erasure had to look for

  ARGV[1] the state as it was read, '' for none

  Returns 1 forgotten, 0 conflict (the state is not what was read).
]]
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
return 1
