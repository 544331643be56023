-- Shared part of the scripts that change the details of a post's record. Details are stored as text: numbers, the first
-- of which is the version, and then the references.

-- Raises the version, and changes the number at this position.
local function change_details(key, position, change)
  local text = redis.call('HGET', key, 'details') or '0 0 0 0 0 0'
  local head, rest = string.match(text, '^([%d ]*%d)(.*)$')
  local numbers = {}
  for number in string.gmatch(head, '%d+') do numbers[#numbers + 1] = tonumber(number) end
  numbers[1] = numbers[1] + 1
  numbers[position] = math.max(0, numbers[position] + change)
  for index, number in ipairs(numbers) do numbers[index] = string.format('%.0f', number) end
  redis.call('HSET', key, 'details', table.concat(numbers, ' ') .. rest)
end
