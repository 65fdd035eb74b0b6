-- SPDX-License-Identifier: Apache-2.0
-- Endpoints that answer fast are preferred: of two drawn by lot the one whose answers have taken less time lately, as an average in which older ones count less and
-- less (peak EWMA of Finagle, as ingress-nginx has it). All workers share the times; who has not been asked for a while is as good as somebody new.
local ffi = require("ffi")

local _M = {}

local times = ngx.shared.sluice_times
local exp, max, random, match = math.exp, math.max, math.random, string.match
local DECAY_S = 10
local KEPT_S = 300 -- by then nothing is left of a time
local record = ffi.new("double[2]") -- the average in seconds, and when it was that
local RECORD_LEN = 16

local function read(address)
	local text = times:get(address)
	if not text then
		return nil
	end
	ffi.copy(record, text, RECORD_LEN)
	return record[0], record[1]
end

local function packed(average, now)
	record[0], record[1] = average, now
	return ffi.string(record, RECORD_LEN)
end

-- What the average has become by now, and the share that it has in the next one; nothing is known of who has not been asked.
local function aged(address, now)
	local average, at = read(address)
	if not average then
		return 0, 0
	end
	local weight = exp(-max(now - at, 0) / DECAY_S)
	return average * weight, weight
end

-- Those that are the best choice but for their times.
local function best_of(peers, badness)
	local found, least = {}, nil
	for i = 1, #peers do
		local bad = badness(peers[i])
		if not least or bad < least then
			found, least = {}, bad
		end
		if bad == least then
			found[#found + 1] = peers[i]
		end
	end
	return found
end

-- One of `peers`, of which there is at least one. badness(peer): less is better, and counts before any time.
function _M.choose(peers, badness)
	local found = best_of(peers, badness)
	local count = #found
	local one = random(1, count)
	if count == 1 then
		return found[1]
	end
	local other = random(1, count - 1)
	other = other < one and other or other + 1
	local now = ngx.now()
	local is_slower = aged(found[one].address, now) > aged(found[other].address, now)
	return found[is_slower and other or one]
end

local function last_of(text)
	return match(text or "", "(%S+)$")
end

-- Of a request that is over: how long the last endpoint took.
function _M.note(var)
	local address = last_of(var.upstream_addr)
	if not address then
		return
	end
	local seconds = (tonumber(last_of(var.upstream_connect_time)) or 0) + (tonumber(last_of(var.upstream_response_time)) or 0)
	local now = ngx.now()
	local average, weight = aged(address, now)
	times:set(address, packed(average + seconds * (1 - weight), now), KEPT_S)
end

-- Endpoints that come begin with the average of the others, so that not all requests go to them. `before`: the pool as it was.
function _M.welcome(pool, before)
	local sum, count = 0, 0
	for _, peer in pairs(before.by_id) do
		if not pool.by_id[peer.id] then
			times:delete(peer.address)
		end
	end
	for _, peer in ipairs(pool.active) do
		local average = read(peer.address)
		sum, count = sum + (average or 0), count + (average and 1 or 0)
	end
	for _, peer in ipairs(pool.active) do
		if count > 0 and not before.by_id[peer.id] then
			times:add(peer.address, packed(sum / count, ngx.now()), KEPT_S)
		end
	end
end

return _M
