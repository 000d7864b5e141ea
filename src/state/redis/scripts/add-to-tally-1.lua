--[[
  Adds a batch of counts to a tally, unless the batch was added before.

  KEYS[1] the tally: counts and the number of each writer's last batch, by field. Hash

  ARGV[1] the field of the writer
  ARGV[2] the number of the batch
  ARGV[3] how long the tally is kept from now on, ms
  ARGV[4..] a field and the number to add to it, in turn

  Returns nothing.
]]
local number = whole(2)
whole(3)
for i = 5, #ARGV, 2 do whole(i) end
if tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') >= number then return end
for i = 4, #ARGV - 1, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
