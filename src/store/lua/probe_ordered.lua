-- Looks posts up in ordered compact sets.
-- KEYS[1…]  for each set, the posts of a set without a tree: a sorted set, the number of members, and for each post,
-- the shards that may contain it, from the root down
-- ARGV[1]  the number of sets      ARGV[2]  the number of shards of a post
-- ARGV[3]  the capacity of a shard, except those of the last level
-- ARGV[4], ...  the posts
-- Returns  for each set, for each post 1 if the set contains it, else 0
local sets, shards, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local posts = { unpack(ARGV, 4) }

-- Returns a function that looks a post up, given its number, in the set whose keys begin at an index.
local function lookup(first)
  local set = ordered_set_of(KEYS[first], nil, nil, KEYS[first + 1])
  if has_tree(set) then
    return function(number, post)
      local start = first + 2 + (number - 1) * shards
      return find_in_tree({ unpack(KEYS, start, start + shards - 1) }, post, room) ~= nil
    end
  end
  local members = {}
  for _, member in ipairs(set.order.members(set)) do members[member] = true end
  return function(_, post) return members[post] end
end

local found = {}
for index = 1, sets do
  local contains, results = lookup(1 + (index - 1) * (2 + #posts * shards)), {}
  for number, post in ipairs(posts) do results[number] = contains(number, post) and 1 or 0 end
  found[index] = results
end
return found
