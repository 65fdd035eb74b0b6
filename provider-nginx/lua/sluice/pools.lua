-- SPDX-License-Identifier: Apache-2.0
-- Pools and the choice of an endpoint.
--
-- `pool:POOL` among the object rows (`O`) holds lines of words: `proto http|https|h2c|h2|tcp` (h2 with TLS), `tls TRUST SERVER-NAME CLIENT`
-- (who has to have signed the endpoint's certificate: the name of a CA, `system`, or `off`; `-`: none), `algo rr|least|source`, `sticky NAME FLAGS DOMAIN`,
-- `check ...` (health.lua), and for every endpoint `e a|d ID IP PORT`, a for active, d for one that only drains.
local store = require("sluice.store")
local lrucache = require("resty.lrucache")

local _M = { trusts = {} } -- those that this nginx knows

local CACHED_POOLS = 20000
local FAILED_FOR_S = 5 -- an endpoint that refused a connection is the last choice for so long
local cache = lrucache.new(CACHED_POOLS)
local failed = lrucache.new(10000)
local health = ngx.shared.sluice_health
local gmatch, match = string.gmatch, string.match
local crc32 = ngx.crc32_long

local words = {
	proto = function(pool, rest) pool.proto = rest end,
	algo = function(pool, rest) pool.algo = rest end,
	tls = function(pool, rest)
		local trust, name, client = match(rest, "^(%S+) (%S+) (%S+)$")
		pool.tls = {
			trust = trust,
			name = name ~= "-" and name or nil,
			client = client ~= "-" and "Oclient:" .. pool.key .. ":" .. client or nil,
		}
	end,
	sticky = function(pool, rest)
		local name, flags, domain = match(rest, "^(%S+) (%S+) (%S+)$")
		pool.sticky = {
			name = name,
			indirect = flags:find("i", 1, true) ~= nil,
			nocache = flags:find("n", 1, true) ~= nil,
			postonly = flags:find("p", 1, true) ~= nil,
			domain = domain ~= "-" and domain or nil,
		}
	end,
	check = function(pool, rest)
		pool.check = rest
	end,
	e = function(pool, rest)
		local state, id, ip, port = match(rest, "^([ad]) (%x+) (%S+) (%d+)$")
		local peer = { id = id, ip = ip, port = tonumber(port), name = ip .. " " .. port, busy = 0 }
		pool.by_id[id] = peer
		if state == "a" then
			pool.active[#pool.active + 1] = peer
		end
	end,
}

-- Everything of the row's text; peers that were there before are the same tables, so that counts go on.
local function parse(key, text, before)
	local pool = { key = key, text = text, proto = "http", algo = "rr", active = {}, by_id = {}, turn = math.random(0, 65535) }
	for word, rest in gmatch(text, "(%l+) ([^\n]*)\n") do
		words[word](pool, rest)
	end
	if before then
		for id, peer in pairs(pool.by_id) do
			local old = before.by_id[id]
			peer.busy = old and old.busy or 0
		end
		pool.turn = before.turn
	end
	return pool
end

-- The pool as it is now, or nil.
function _M.get(key)
	local text = store.get("Opool:" .. key)
	if not text then
		return nil
	end
	local pool = cache:get(key)
	if not pool or pool.text ~= text then
		pool = parse(key, text, pool)
		cache:set(key, pool)
	end
	return pool
end

local function is_down(pool, peer)
	return pool.check and health:get(pool.key .. " " .. peer.name) == 0
end

-- How good a choice a peer is: 0 fine, 1 refused lately, 2 found down by health checks, 3 tried for this request.
local function badness(pool, peer, tried)
	if tried and tried[peer.id] then
		return 3
	end
	if is_down(pool, peer) then
		return 2
	end
	return failed:get(peer.name) and 1 or 0
end

local choosers = {}

-- Rotating starts behind the one that was taken last, so that a bad neighbour does not double one's share for long.
function choosers.rr(pool, tried)
	local count = #pool.active
	local best, best_badness
	pool.turn = pool.turn + 1
	for i = 0, count - 1 do
		local peer = pool.active[(pool.turn + i) % count + 1]
		local bad = badness(pool, peer, tried)
		if bad == 0 then
			pool.turn = pool.turn + i
			return peer
		end
		if not best or bad < best_badness then
			best, best_badness = peer, bad
		end
	end
	return best
end

function choosers.least(pool, tried)
	local count = #pool.active
	local best, best_badness
	pool.turn = pool.turn + 1
	for i = 0, count - 1 do
		local peer = pool.active[(pool.turn + i) % count + 1]
		local bad = badness(pool, peer, tried)
		if not best or bad < best_badness or (bad == best_badness and peer.busy < best.busy) then
			best, best_badness = peer, bad
		end
	end
	return best
end

-- The highest digest of client and endpoint: when an endpoint goes, only its own clients move.
function choosers.source(pool, tried, client)
	local best, best_badness, best_digest
	for _, peer in ipairs(pool.active) do
		local bad = badness(pool, peer, tried)
		local digest = crc32(client .. " " .. peer.id)
		if not best or bad < best_badness or (bad == best_badness and digest > best_digest) then
			best, best_badness, best_digest = peer, bad, digest
		end
	end
	return best
end

-- An endpoint for a new try, or nil. `tried` is a set of ids, `wanted` the id that the client's cookie names; both may be nil.
function _M.pick(pool, client, tried, wanted)
	if wanted then
		local peer = pool.by_id[wanted]
		if peer and badness(pool, peer, tried) == 0 then
			return peer
		end
	end
	if #pool.active == 0 then
		return nil
	end
	return (choosers[pool.algo] or choosers.rr)(pool, tried, client)
end

-- Certificate and key for the endpoints of a pool, in PEM; nil when they are not there.
function _M.client_pair(tls)
	local length, rest = match(store.get(tls.client) or "", "^(%d+)\n(.*)$")
	if not length then
		return nil
	end
	return string.sub(rest, 1, tonumber(length)), string.sub(rest, tonumber(length) + 1)
end

function _M.note_failure(peer)
	failed:set(peer.name, true, FAILED_FOR_S)
end

return _M
