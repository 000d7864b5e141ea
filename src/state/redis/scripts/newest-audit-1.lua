--[[
  Where the audit ends.

  KEYS[1] the audit. Stream

  Returns the id that was given last and the hash of the newest entry; nothing when there never was one.
]]
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local about = redis.call('XINFO', 'STREAM', KEYS[1])
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local hash = ''
if newest then
  for i = 1, #newest[2], 2 do
    if newest[2][i] == 'hash' then hash = newest[2][i + 1] end
  end
end
for i = 1, #about, 2 do
  if about[i] == 'last-generated-id' then return { about[i + 1], hash } end
end
return {}
