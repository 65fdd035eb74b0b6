-- SPDX-License-Identifier: Apache-2.0
-- Endpoints on a circle: each stands at many points of it, and a key belongs to the first one from its own point on. When one of n leaves, only its keys, about 1/n of
-- all, go elsewhere. Made once when a pool changes, by counting, not by comparing.
local ffi = require("ffi")
local bit = require("bit")

local _M = {}

local floor, format, random, min = math.floor, string.format, math.random, math.min
local band, bxor, lshift, rshift = bit.band, bit.bxor, bit.lshift, bit.rshift
local POINTS_OF_EACH = 128 -- shares differ by some 9 percent then
local POINTS_MAX = 131072 -- of a ring; beyond that each endpoint has fewer
local LOOKS_MAX = 64 -- endpoints that are looked at for one that is well

-- Sorts `count` points by their place, with what belongs to each, a byte at a time.
local function sort(places, owners, count)
	local other_places, other_owners = ffi.new("uint32_t[?]", count + 1), ffi.new("uint32_t[?]", count + 1)
	local first = ffi.new("uint32_t[257]")
	for shift = 0, 24, 8 do
		ffi.fill(first, 257 * 4)
		for i = 0, count - 1 do
			local digit = band(rshift(places[i], shift), 0xff)
			first[digit + 1] = first[digit + 1] + 1
		end
		for digit = 1, 255 do
			first[digit] = first[digit] + first[digit - 1]
		end
		for i = 0, count - 1 do
			local digit = band(rshift(places[i], shift), 0xff)
			local at = first[digit]
			first[digit] = at + 1
			other_places[at], other_owners[at] = places[i], owners[i]
		end
		places, other_places = other_places, places
		owners, other_owners = other_owners, owners
	end
	return places, owners
end

-- How many points each of `count` has: a power of two that many share, so that one more or less of them changes it seldom.
local function points_of(count)
	local points = POINTS_OF_EACH
	while points > 1 and points * count > POINTS_MAX do
		points = points / 2
	end
	return points
end

-- A number of 32 bits that each bit of the former one has to do with.
local function step(value)
	value = bxor(value, lshift(value, 13))
	value = bxor(value, rshift(value, 17))
	return bxor(value, lshift(value, 5))
end

-- `peers` have an `id` of 16 hexadecimal digits, which is a digest already.
function _M.new(peers)
	local each = points_of(#peers)
	local count = each * #peers
	local places, owners = ffi.new("uint32_t[?]", count + 1), ffi.new("uint32_t[?]", count + 1)
	local at = 0
	for i = 1, #peers do
		local id = peers[i].id
		local value = bxor(tonumber(string.sub(id, -8), 16), lshift(tonumber(string.sub(id, 1, 8), 16), 1))
		value = value ~= 0 and value or 1
		for _ = 1, each do
			value = step(value)
			places[at], owners[at] = band(value, 0xffffffff) % 4294967296, i
			at = at + 1
		end
	end
	places, owners = sort(places, owners, count)
	return { peers = peers, places = places, owners = owners, count = count }
end

-- Index of the first point at or behind the place.
local function find(ring, place)
	local places, first, stop = ring.places, 0, ring.count
	while first < stop do
		local middle = floor((first + stop) / 2)
		if places[middle] < place then
			first = middle + 1
		else
			stop = middle
		end
	end
	return first < ring.count and first or 0
end

-- The first `wanted` endpoints from the place on, each once; fewer when there are no more.
local function walk(ring, place, wanted)
	local found, seen = {}, {}
	local at, left = find(ring, place), ring.count
	while #found < wanted and left > 0 do
		local owner = ring.owners[at]
		if not seen[owner] then
			seen[owner] = true
			found[#found + 1] = ring.peers[owner]
		end
		at, left = at + 1, left - 1
		if at == ring.count then
			at = 0
		end
	end
	return found
end

-- The best of them, from the one at `from` on.
local function best_of(peers, from, badness)
	local best, best_badness
	for i = 0, #peers - 1 do
		local peer = peers[(from + i - 1) % #peers + 1]
		local bad = badness(peer)
		if bad == 0 then
			return peer, 0
		end
		if not best or bad < best_badness then
			best, best_badness = peer, bad
		end
	end
	return best, best_badness
end

-- The endpoint that a place belongs to; there is at least one.
function _M.owner(ring, place)
	return ring.peers[ring.owners[find(ring, place)]]
end

-- The endpoint for a key whose digest is `place`. badness(peer): 0 is a good choice, and less is better.
function _M.pick(ring, place, badness)
	local first = _M.owner(ring, place)
	if badness(first) == 0 then
		return first
	end
	return (best_of(walk(ring, place, min(#ring.peers, LOOKS_MAX)), 1, badness))
end

-- A ring of groups of `size` endpoints in place of endpoints: in their order, and the last group has some of the first ones, too, so that all are as large.
function _M.of_groups(peers, size)
	local groups, count = {}, #peers
	for from = 1, count, size do
		local number = #groups + 1
		local group = { id = format("%08x%08x", number * 40503 % 65536 * 65536 + number % 65536, number) }
		for i = 1, min(size, count) do
			group[i] = peers[(from + i - 2) % count + 1]
		end
		groups[number] = group
	end
	return _M.new(groups)
end

-- One of the group of the key, by chance; if none of them is well, one of the groups behind it.
function _M.pick_of_group(ring, place, badness)
	local group = _M.owner(ring, place)
	local best, best_badness = best_of(group, random(1, #group), badness)
	if best_badness == 0 then
		return best
	end
	for _, other in ipairs(walk(ring, place, min(#ring.peers, LOOKS_MAX))) do
		local peer, bad = best_of(other, 1, badness)
		if bad < best_badness then
			best, best_badness = peer, bad
		end
	end
	return best
end

return _M
