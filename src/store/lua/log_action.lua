-- Adds an entry to the log of what moderators did. Its id is its time, or the id after the last one if that is later.
-- Idempotent: an entry that is among the newest already is not added again.
-- KEYS[1]  the log
-- ARGV[1]  the time      ARGV[2]  the maximum length of the log
-- ARGV[3]  the call's nonce, which is added as a field      ARGV[4…]  names and values of the other fields
-- Returns  the entry's id
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 100)
for _, entry in ipairs(newest) do
  if entry[2][1] == 'nonce' and entry[2][2] == ARGV[3] then return entry[1] end
end
local id = ARGV[1] .. '-0'
local last = newest[1] and newest[1][1]
if last then
  local time, number = string.match(last, '^(%d+)-(%d+)$')
  if tonumber(time) >= tonumber(ARGV[1]) then id = time .. '-' .. string.format('%.0f', tonumber(number) + 1) end
end
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], id, 'nonce', ARGV[3], unpack(ARGV, 4))
