--[[
  Notes a decision under its order.

  KEYS[1] decisions of the order, by when

  ARGV[1] the decision's id
  ARGV[2] when it was made, epoch ms
  ARGV[3] decisions noted for an order: of more, the oldest are forgotten
  ARGV[4] kept for, ms

  Returns nothing.
]]
local decisions = tonumber(ARGV[3])
local kept_ms = tonumber(ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -decisions - 1)
redis.call('PEXPIRE', KEYS[1], kept_ms)
