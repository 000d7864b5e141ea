--[[
  Reads a text with a stamp of its bytes: what is no UTF-8 would come back as something else.

  KEYS[1] the text

  Returns the text and its stamp, or false when there is none.
]]
local text = redis.call('GET', KEYS[1])
if not text then return false end
return { text, redis.sha1hex(text) }
