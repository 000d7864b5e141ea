--[[
  Gives the newest entries about a client in one stretch of a journal, newest first.

  KEYS[1] journal of the client's partition

  ARGV[1] client
  ARGV[2] where the stretch begins: '+', or what the call before returned
  ARGV[3] how many entries to look at
  ARGV[4] how many entries to give

  Returns where the next stretch begins, '' when nothing older is kept; then the id and the text of each entry.
  The entries of other clients are most of a journal, so they are left out here.
]]
local looked_at = whole(3)
local limit = whole(4)

local function value_of(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then return fields[i + 1] end
  end
  return ''
end

local entries = redis.call('XREVRANGE', KEYS[1], ARGV[2], '-', 'COUNT', looked_at)
local reply = { '' }
for _, entry in ipairs(entries) do
  local id, fields = entry[1], entry[2]
  if value_of(fields, 'client') == ARGV[1] then
    reply[#reply + 1] = id
    reply[#reply + 1] = value_of(fields, 'entry')
    if #reply > 2 * limit then
      reply[1] = '(' .. id
      return reply
    end
  end
end
if #entries == looked_at then reply[1] = '(' .. entries[#entries][1] end
return reply
