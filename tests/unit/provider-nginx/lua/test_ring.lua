-- SPDX-License-Identifier: Apache-2.0
-- Endpoints on a circle.
local bit = require("bit")
local tests = {}

local function peers_of(count)
	local peers, seed = {}, 12345
	local function digits()
		seed = (seed * 1103515245 + 12345) % 2147483648
		return ("%08x"):format(bit.bxor(seed, bit.lshift(seed, 7)) % 4294967296)
	end
	for i = 1, count do
		peers[i] = { id = digits() .. digits(), name = "p" .. i }
	end
	return peers
end

local function well()
	return 0
end

-- Places of keys, evenly.
local function places(count)
	local place = 0
	return function()
		place = place + 1
		if place <= count then
			return math.floor(place * 4294967295 / count)
		end
	end
end

function tests.only_keys_of_the_one_that_goes_move()
	local ring = require("sluice.ring")
	local peers = peers_of(10)
	local all = ring.new(peers)
	local gone = peers[4]
	local rest = ring.new({ peers[1], peers[2], peers[3], unpack(peers, 5) })
	local moved, count = 0, 0
	for place in places(20000) do
		local before, after = ring.pick(all, place, well), ring.pick(rest, place, well)
		count = count + 1
		if before == gone then
			moved = moved + 1
		else
			assert(before == after)
		end
	end
	assert(count == 20000 and moved > 1200 and moved < 3000, moved)
end

function tests.points_are_in_their_order()
	local ring = require("sluice.ring")
	for _, count in ipairs({ 1, 2, 1023, 1024, 1025, 3000 }) do
		local made = ring.new(peers_of(count))
		assert(made.count >= count and made.count <= 131072)
		for i = 1, made.count - 1 do
			assert(made.places[i - 1] <= made.places[i])
		end
		local seen = {}
		for i = 0, made.count - 1 do
			seen[made.owners[i]] = true
		end
		for i = 1, count do
			assert(seen[i])
		end
		assert(ring.pick(made, 4294967295, well) and ring.pick(made, 0, well))
	end
end

function tests.who_is_not_well_hands_its_keys_on()
	local ring = require("sluice.ring")
	local peers = peers_of(5)
	local made = ring.new(peers)
	local bad = { [peers[2]] = 1, [peers[3]] = 3 }
	local function badness(peer)
		return bad[peer] or 0
	end
	for place in places(2000) do
		local usual, got = ring.pick(made, place, well), ring.pick(made, place, badness)
		assert(badness(got) == 0 and (badness(usual) ~= 0 or got == usual))
	end
	bad = { [peers[1]] = 3, [peers[2]] = 1, [peers[3]] = 3, [peers[4]] = 2, [peers[5]] = 3 }
	for place in places(100) do
		assert(ring.pick(made, place, badness) == peers[2], "the best of them")
	end
end

function tests.a_key_has_a_group()
	local ring = require("sluice.ring")
	local peers = peers_of(9)
	for _, row in ipairs({ { 2, 5 }, { 3, 3 }, { 9, 1 }, { 4294967295, 1 } }) do
		local made, groups = ring.of_groups(peers, row[1]), {}
		for place in places(200) do
			local group = {}
			for _ = 1, 300 do
				local peer = ring.pick_of_group(made, place, well)
				group[peer.name] = true
			end
			local names = {}
			for name in pairs(group) do
				names[#names + 1] = name
			end
			table.sort(names)
			assert(#names == math.min(row[1], 9), #names)
			groups[table.concat(names, " ")] = true
		end
		local count = 0
		for _ in pairs(groups) do
			count = count + 1
		end
		assert(count == row[2], count)
	end
	-- Each in one group, but for those that fill up the last one.
	local groups = ring.of_groups(peers, 2).peers
	assert(groups[1][1] == peers[1] and groups[1][2] == peers[2] and groups[5][1] == peers[9] and groups[5][2] == peers[1])
end

function tests.a_group_that_is_not_well_hands_its_keys_on()
	local ring = require("sluice.ring")
	local peers = peers_of(4)
	local made = ring.of_groups(peers, 2)
	local bad = { [peers[1]] = 1, [peers[2]] = 1 }
	local function badness(peer)
		return bad[peer] or 0
	end
	for place in places(100) do
		assert(badness(ring.pick_of_group(made, place, badness)) == 0)
	end
	bad = { [peers[1]] = 3, [peers[2]] = 3, [peers[3]] = 1, [peers[4]] = 2 }
	for place in places(100) do
		local got = ring.pick_of_group(made, place, badness)
		assert(got == peers[3] or got == peers[4])
	end
end

return tests
