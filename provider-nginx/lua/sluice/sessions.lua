-- SPDX-License-Identifier: Apache-2.0
-- Sessions of pools with `affinity`. The value of their cookie is KEY|TAG: what brings the client back to its endpoint, and whose pool it is, which tells a canary
-- from its main pool.
--
-- Where they are balanced, KEY is drawn by lot and belongs to an endpoint on a ring of those that are active: when one comes, its share of all sessions moves to it, and
-- any text will do. Otherwise it is the id of the endpoint, and a session lasts as long as that is active.
local ring = require("sluice.ring")

local _M = {}

local match, format, random = string.match, string.format, math.random
local crc32 = ngx.crc32_long
local LOTS_MAX = 20 -- until one falls on an endpoint that is well

-- nil: it has none.
function _M.key(value)
	return match(value, "^[^|]+")
end

-- Likewise.
function _M.tag(value)
	return value and match(value, "|(.*)$")
end

-- The same for all settings of a Service's port.
function _M.tag_of(pool)
	return format("%08x", crc32(pool.service and pool.namespace .. " " .. pool.service .. " " .. pool.service_port or pool.key))
end

local function owner_of(pool, key)
	pool.sessions = pool.sessions or ring.new(pool.active)
	return ring.owner(pool.sessions, crc32(key))
end

-- The endpoint of a session; nil: it has to begin anew.
function _M.peer(pool, settings, key)
	if settings.affinity.balanced then
		return #pool.active > 0 and owner_of(pool, key) or nil
	end
	local peer = pool.by_id[key]
	return peer and peer.is_active and peer or nil
end

-- Workers draw the same lots, so what is their own is in it, too.
local function new_key()
	return format("%08x%08x", random(0, 0xffffffff), crc32(ngx.worker.pid() .. " " .. random()))
end

-- An endpoint for a new session of a pool that has some, and its key. badness(peer): 0 is a good choice, and less is better.
function _M.begin(pool, badness)
	local best, best_badness, best_key
	for _ = 1, LOTS_MAX do
		local key = new_key()
		local peer = owner_of(pool, key)
		local bad = badness(peer)
		if bad == 0 then
			return peer, key
		end
		if not best or bad < best_badness then
			best, best_badness, best_key = peer, bad, key
		end
	end
	return best, best_key
end

return _M
