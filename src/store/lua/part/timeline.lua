-- Shared part of the home timeline scripts. A timeline is a list of ids, followed by a seal,
-- `=nonce:floor:generation:mark`. The nonce distinguishes the list from other lists under the same key. The timeline is
-- complete at and above the floor, which is 0 if the timeline was never trimmed. Everything up to the mark has been
-- pulled, if the generation is that of the strategy in force.

local function read_seal(key)
  local last = redis.call('LINDEX', key, -1)
  if not last then return nil end
  local nonce, floor, generation, mark = string.match(last, '^=(%x+):(%d+):(%d*):(%d*)$')
  return { nonce = nonce, floor = tonumber(floor), generation = generation, mark = tonumber(mark) }
end

local function print_seal(seal)
  local mark = seal.mark and string.format('%.0f', seal.mark) or ''
  return string.format('=%s:%.0f:%s:%s', seal.nonce, seal.floor, seal.generation, mark)
end

-- Keeps the first `count` ids and raises the floor. The list never becomes empty meanwhile, because Redis would delete
-- an empty list together with its expiry.
local function keep(key, seal, count, floor)
  seal.floor = floor
  if count == 0 then
    redis.call('LTRIM', key, -1, -1)
    redis.call('LSET', key, -1, print_seal(seal))
  else
    redis.call('LTRIM', key, 0, count - 1)
    redis.call('RPUSH', key, print_seal(seal))
  end
end

-- Trims a timeline once it exceeds its capacity by a twentieth, rather than at every insertion.
local function trim(key, seal, length, capacity)
  if length <= capacity + math.max(1, math.floor(capacity / 20)) then return end
  keep(key, seal, capacity, tonumber(redis.call('LINDEX', key, capacity - 1)))
end
