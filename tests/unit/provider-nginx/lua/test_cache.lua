-- SPDX-License-Identifier: Apache-2.0
local cache = require("sluice.cache")

local tests = {}

-- A cache of 100 bytes, and how often each value was freed.
local function fresh()
	local freed = {}
	return cache.new(100, function(value) freed[value] = (freed[value] or 0) + 1 end), freed
end

function tests.what_is_kept_is_found_and_what_is_not_is_freed_once()
	local one, freed = fresh()
	local last = {}
	for i = 1, 1000 do
		local key, value = "k" .. i % 37, "v" .. i
		one:set(key, value, i % 30 + 1)
		last[key] = value
		assert(one:get(key) == value, "the newest is kept")
		assert(one.bytes <= 100)
	end
	local kept, bytes = 0, 0
	for _, item in ipairs(one.items) do
		kept, bytes = kept + 1, bytes + item.bytes
		assert(one:get(item.key) == item.value and last[item.key] == item.value)
	end
	assert(bytes == one.bytes and kept > 2)
	for i = 1, 1000 do
		local value = "v" .. i
		local is_kept = one:get("k" .. i % 37) == value
		assert((freed[value] or 0) == (is_kept and 0 or 1), value)
	end
end

function tests.a_value_takes_the_place_of_the_one_before_it()
	local one, freed = fresh()
	one:set("a", "old", 60)
	one:set("b", "other", 40)
	one:set("a", "new", 60)
	assert(one:get("a") == "new" and one:get("b") == "other" and one.bytes == 100)
	assert(freed.old == 1 and not freed.other and not freed.new)
end

function tests.what_is_larger_than_all_room_is_alone()
	local one, freed = fresh()
	one:set("a", "small", 10)
	one:set("b", "large", 1000)
	assert(one:get("b") == "large" and not one:get("a") and freed.small == 1)
	one:set("a", "small again", 10)
	assert(one:get("a") == "small again" and not one:get("b") and freed.large == 1)
end

-- A few more than there is room for, asked for in turn: most are found.
function tests.a_round_through_slightly_too_many_finds_most()
	local one, found = fresh(), 0
	for _ = 1, 100 do
		for i = 1, 110 do
			if one:get(i) then
				found = found + 1
			else
				one:set(i, i, 1)
			end
		end
	end
	assert(found > 100 * 110 * 0.6, found)
end

return tests
