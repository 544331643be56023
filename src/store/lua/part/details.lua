-- Shared part of the scripts that change the details of a post's record. Details are stored as text: numbers (the
-- version, the edition, the time of the last edit, and the counts), and then the references.

-- The details of a plain post. There are always as many numbers, because the first version that had details reads as
-- many.
local PLAIN, LEAST = '0 0 0 0 0 0', 6

-- Returns the text of references without those that belong to the content.
local function without_content(rest) return (string.gsub(rest, ' tags=%S+', '')) end

-- Returns the numbers, and the text of the references.
local function read_details(text)
  local head, rest = string.match(text or PLAIN, '^([%d ]*%d)(.*)$')
  local numbers = {}
  for number in string.gmatch(head, '%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers, rest
end

-- Returns details as text, with the next version, and without counts of zero at the end that need not be stored: see
-- `model::attachment`.
local function next_details(numbers, rest)
  numbers[1] = numbers[1] + 1
  while #numbers > LEAST and numbers[#numbers] == 0 do numbers[#numbers] = nil end
  for index, number in ipairs(numbers) do numbers[index] = string.format('%.0f', number) end
  return table.concat(numbers, ' ') .. rest
end

-- Raises the version, and changes the counts at these positions: `changes[position]` is added. A record that an earlier
-- version has written may lack counts.
local function change_details(key, changes)
  local numbers, rest = read_details(redis.call('HGET', key, 'details'))
  for position, change in pairs(changes) do
    for missing = #numbers + 1, math.max(position, LEAST) do numbers[missing] = 0 end
    numbers[position] = math.max(0, numbers[position] + change)
  end
  redis.call('HSET', key, 'details', next_details(numbers, rest))
end
