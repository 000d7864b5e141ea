--[[
  Takes one token out of a bucket, and as many more in advance as a node wants and the bucket has. The rule is that of
  takeToken in rate-buckets.ts, by the store's own clock. That clock may go back, by hand or when a replica takes over: a
  stored time that no request can have left counts as a full bucket.

  KEYS[1] the time at which the bucket would be full again, epoch ms. String

  ARGV[1] tokens a second
  ARGV[2] the tokens that a full bucket holds
  ARGV[3] a request that would wait longer than this is refused and takes no token, ms
  ARGV[4] how many further tokens are wanted

  Returns the wait in whole ms, or -1 when refused, and the number of further tokens taken.
]]
local rate = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])
local delay_ms_max = whole(3)
local wanted = whole(4)
if not (rate and rate > 0 and rate < math.huge and burst and burst >= 0 and burst < math.huge) then
  error('a rate and a burst are numbers')
end

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local token_ms = 1000 / rate
local known_ms = tonumber(redis.call('GET', KEYS[1]) or '0')
if known_ms > now_ms + burst * token_ms + delay_ms_max + 1 then known_ms = 0 end
local full_at_ms = math.max(known_ms, now_ms) + token_ms
-- A rounding difference of a fraction of a millisecond is not a wait.
local delay_ms = math.max(0, math.ceil(full_at_ms - now_ms - burst * token_ms - 0.01))
if delay_ms > delay_ms_max then return { -1, 0 } end
local there = math.floor((burst * token_ms - (full_at_ms - now_ms)) / token_ms + 0.001)
local more = math.max(0, math.min(wanted, there))
full_at_ms = full_at_ms + more * token_ms
redis.call('SET', KEYS[1], string.format('%.3f', full_at_ms), 'PX', math.ceil(full_at_ms - now_ms))
return { delay_ms, more }
