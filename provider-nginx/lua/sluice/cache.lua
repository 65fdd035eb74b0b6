-- SPDX-License-Identifier: Apache-2.0
-- A cache of one worker that is bounded by bytes. What makes room is drawn by lot: were it the one that was used least recently, thousands that are
-- asked for in turn, and are a few more than there is room for, would each be thrown out just before it is asked for again.
local _M = {}
local Cache = {}
Cache.__index = Cache

local random = math.random

-- `free(value)` is called once for each value that is no longer kept.
function _M.new(bytes_max, free)
	return setmetatable({ bytes_max = bytes_max, free = free, bytes = 0, items = {}, places = {} }, Cache)
end

local function drop(cache, place)
	local items, item = cache.items, cache.items[place]
	local last = items[#items]
	items[place], cache.places[last.key] = last, place
	items[#items], cache.places[item.key] = nil, nil
	cache.bytes = cache.bytes - item.bytes
	cache.free(item.value)
end

function Cache:get(key)
	local place = self.places[key]
	return place and self.items[place].value
end

-- Keeps the value also when it is larger than all room: then it is alone.
function Cache:set(key, value, bytes)
	if self.places[key] then
		drop(self, self.places[key])
	end
	while self.bytes + bytes > self.bytes_max and #self.items > 0 do
		drop(self, random(#self.items))
	end
	self.items[#self.items + 1] = { key = key, value = value, bytes = bytes }
	self.places[key] = #self.items
	self.bytes = self.bytes + bytes
end

return _M
