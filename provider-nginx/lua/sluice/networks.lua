-- SPDX-License-Identifier: Apache-2.0
-- Lists of networks as provider-nginx/network_text.h writes them: sorted ranges of addresses, searched by halves. No I/O.
local tree = require("sluice.tree")

local _M = {}

local floor = math.floor
local find, sub, gsub, char = string.find, string.sub, string.gsub, string.char
local MAPPED = ("\0"):rep(10) .. "\255\255"

local function to_bytes(hex)
	return (gsub(hex, "%x%x", function(digits) return char(tonumber(digits, 16)) end))
end

local function ranges_of(list)
	local first, last = {}, {}
	for i = 2, list and #list or 0, 2 do
		first[i / 2], last[i / 2] = to_bytes(list[i]), to_bytes(list[i + 1])
	end
	return { first = first, last = last }
end

-- Of a list of the word and a list for each kind of address; nil without one.
function _M.new(list)
	if not list then
		return nil
	end
	local kinds = tree.by_word({ unpack(list, 2) })
	return { [4] = ranges_of(kinds.v4), [16] = ranges_of(kinds.v6) }
end

-- The bytes of a client's address, four of them for IPv4 in whatever notation it came.
function _M.address(bytes)
	if #bytes == 16 and find(bytes, MAPPED, 1, true) == 1 then
		return sub(bytes, 13)
	end
	return bytes
end

-- The last of first[low..high], or the one before them, that is not beyond the address. No loop: LuaJIT compiles the way of a request around one in pieces.
local function last_before(first, address, low, high)
	if low > high then
		return high
	end
	local middle = floor((low + high) / 2)
	if first[middle] > address then
		return last_before(first, address, low, middle - 1)
	end
	return last_before(first, address, middle + 1, high)
end

-- Whether one of them has the address.
function _M.have(networks, address)
	local ranges = networks[#address]
	if not ranges then
		return false
	end
	local at = last_before(ranges.first, address, 1, #ranges.first)
	return at > 0 and address <= ranges.last[at]
end

return _M
