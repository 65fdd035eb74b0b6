-- SPDX-License-Identifier: Apache-2.0
-- Pools and the choice of an endpoint.
--
-- `pool:POOL` among the object rows (`O`) holds lines of words: `proto http|https|h2c|h2|tcp` (h2 with TLS), `tls TRUST SERVER-NAME CLIENT`
-- (who has to have signed the endpoint's certificate: the name of a CA, `system`, or `off`; `-`: none), `algo rr|least|source|fastest`, `sticky NAME FLAGS DOMAIN`,
-- `affinity TREE` (what else the cookie is told), `subset COUNT` and `hash TREE` (pieces by which requests are told apart, in place of `algo`),
-- `check ...` (health.lua), and for every endpoint `e a|d ID IP PORT`, a for active, d for one that only drains.
local changes = require("sluice.changes")
local fastest = require("sluice.fastest")
local pieces = require("sluice.pieces")
local ring = require("sluice.ring")
local sessions = require("sluice.sessions")
local store = require("sluice.store")
local tree = require("sluice.tree")
local lrucache = require("resty.lrucache")

local _M = {
	trusts = { off = true }, -- those that this nginx knows
	FIRST = "0_http", -- the upstream that nginx.conf.tmpl names
}

local CACHED_POOLS = 20000
local FAILED_FOR_S = 5 -- an endpoint that refused a connection is the last choice for so long
local LEFT_FOR_S = 65 -- longer than nginx keeps a connection to an endpoint that nobody uses: keepalive_timeout in nginx.conf.tmpl
local NAME_LEN = 17 -- provider-proxy/names.h
local SHARDS, SHARD_DIGITS = 32, 8 -- upstreams of each protocol in nginx.conf.tmpl, and with what their names begin
local cache, cached = {}, 0
local failed = lrucache.new(10000)
local LEFT_MAX = 10000
local left = lrucache.new(LEFT_MAX) -- endpoints that a pool had
local left_count, left_counted_until = 0, 0
local shard = 0
local FIRST_MAX = 16 -- endpoints of several pools in the first upstream
local first_count = 0
local anybody_left_until = 0 -- when there was more than is kept of pools or of who has left, so that nobody knows who has
local health = ngx.shared.sluice_health
local find, gmatch, match, sub = string.find, string.gmatch, string.match, string.sub
local crc32 = ngx.crc32_long

local words = {
	proto = function(pool, rest) pool.proto = rest end,
	algo = function(pool, rest) pool.algo = rest end,
	tls = function(pool, rest)
		local trust, name, client = match(rest, "^(%S+) (%S+) (%S+)$")
		-- A dot before it: it is not asked for, and only what the certificate has to be for; a dot alone: there is none.
		local is_nameless = sub(name, 1, 1) == "."
		name = is_nameless and sub(name, 2) or name
		pool.tls = {
			trust = trust, is_nameless = is_nameless,
			name = name ~= "-" and name ~= "" and name or nil,
			client = client ~= "-" and "Oclient:" .. pool.key .. ":" .. client or nil,
		}
	end,
	service = function(pool, rest)
		pool.service, pool.service_port, pool.namespace = match(rest, "^(%S+) (%d+) ?(%S*)$")
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
	affinity = function(pool, rest)
		local words = tree.by_word(tree.parse(rest) or {})
		local function first(word)
			return words[word] and words[word][2]
		end
		pool.sticky.affinity = {
			path = first("path"), balanced = words.balanced ~= nil, max_age = first("max_age"), expires = tonumber(first("expires")), same_site = first("same_site"),
			same_site_known = words.same_site_known ~= nil, secure = first("secure") or "tls",
		}
		pool.sticky.stays = words.stays ~= nil
	end,
	subset = function(pool, rest) pool.subset = tonumber(rest) end,
	hash = function(pool, rest)
		local list = tree.parse(rest)
		if list then
			pool.hash, pool.algo, pool.uses_headers = pieces.new(list, 1), "hash", pieces.use_headers(list, 1)
		end
	end,
	check = function(pool, rest)
		pool.check = rest
	end,
	e = function(pool, rest, before)
		local state, id, ip, port = match(rest, "^([ad]) (%x+) (%S+) (%d+)$")
		local name = ip .. " " .. port
		-- One that was there before goes on: requests that are under way will take themselves off its count.
		local peer = before and before.by_id[id]
		if not peer or peer.name ~= name then
			peer = { id = id, ip = ip, port = tonumber(port), name = name, busy = 0, is_new = true }
			-- As nginx writes it.
			peer.address = (find(ip, ":", 1, true) and "[" .. ip .. "]" or ip) .. ":" .. port
		end
		pool.by_id[id], peer.is_active = peer, state == "a"
		if state == "a" then
			pool.active[#pool.active + 1] = peer
		end
	end,
}

-- nginx finds a connection that it keeps by its address alone, and has no way to close one. So those to endpoints that have left are not used for
-- as long as there may be any: whoever has the address by then may be somebody else.
local function note_left(before, pool)
	local now = ngx.now()
	if now >= left_counted_until then
		left_count, left_counted_until = 0, now + LEFT_FOR_S
	end
	for id, peer in pairs(before.by_id) do
		if not pool or pool.by_id[id] ~= peer then
			left:set(peer.name, true, LEFT_FOR_S)
			left_count = left_count + 1
		end
	end
	-- Half, because those of the time before may count, too.
	if left_count > LEFT_MAX / 2 then
		anybody_left_until = now + LEFT_FOR_S
	end
end

-- The first upstream has those pools that this worker was asked for first, which most requests want: it costs them least.
local function leave_first(pool)
	if pool and pool.in_first then
		first_count = first_count - pool.in_first
	end
end

local function join_first(pool, before)
	local count = #pool.active
	local has_room = first_count == 0 or first_count + count <= FIRST_MAX
	if has_room and pool.proto == "http" and (not before or before.in_first) then
		first_count, pool.in_first = first_count + count, count
	end
	return pool.in_first
end

-- Among the upstreams of its protocol. The others have pools in turn, so that each has to keep equally many connections: to find one of them nginx looks at all.
local function upstream_of(pool, before)
	leave_first(before)
	if join_first(pool, before) then
		return _M.FIRST
	end
	if not before or before.in_first then
		shard = shard % (SHARDS - 1) + 1
	end
	pool.shard = before and before.shard or shard
	-- What has been connected to without a server name is kept apart.
	local place = pool.tls and pool.shard - pool.shard % 2 + (pool.tls.is_nameless and 1 or 0) or pool.shard
	return string.format("%x%s_%s", place % SHARD_DIGITS, string.rep("x", math.floor(place / SHARD_DIGITS)), pool.proto)
end

-- Everything of the row's text. `before`: the pool as it was, whose endpoints go on as far as they are still there.
local function parse(key, text, before)
	local pool = { key = key, text = text, proto = "http", algo = "rr", active = {}, by_id = {}, turn = math.random(0, 65535) }
	for word, rest in gmatch(text, "(%l+) ([^\n]*)\n") do
		words[word](pool, rest, before)
	end
	if before then
		pool.turn = before.turn
		note_left(before, pool)
	end
	pool.upstream = upstream_of(pool, before)
	pool.tag = sessions.tag_of(pool)
	-- Nothing is counted where it is asked from.
	pool.is_short = pool.proto == "http" and not pool.tls and pool.algo ~= "least" and pool.algo ~= "fastest"
	pool.is_plain = pool.is_short and not pool.sticky and not pool.hash
	if before and pool.algo == "fastest" then
		fastest.welcome(pool, before)
	end
	return pool
end

local function forget(key, pool)
	if pool then
		note_left(pool)
		leave_first(pool)
		cache[key], cached = nil, cached - 1
	end
end

local function add(key, pool)
	if not cache[key] then
		if cached >= CACHED_POOLS then
			cache, cached, first_count = {}, 0, pool.in_first or 0
			anybody_left_until = ngx.now() + LEFT_FOR_S
		end
		cached = cached + 1
	end
	cache[key] = pool
end

-- Reads a pool anew that may have changed. nil: it is not there any more.
local function refresh(key, pool, keep)
	local text = store.get("Opool:" .. key)
	if not text then
		forget(key, pool)
		return nil
	end
	if not pool or pool.text ~= text then
		pool = parse(key, text, pool)
		add(key, pool)
	end
	pool.is_current = keep
	return pool
end

-- At once, also when nobody asks for the pools: who has left has to be known.
local function on_change(key)
	local name = match(key, "^Opool:(.*)$")
	if name and cache[name] then
		refresh(name, cache[name], true)
	end
end

local function on_any_change()
	for key, pool in pairs(cache) do
		refresh(key, pool, true)
	end
end

changes.subscribe(on_change, on_any_change)

-- The pool, if it is known here; only after changes.is_settled(). nil: get() may find it. `row`: its name, or that and what follows it in a row.
function _M.known(row)
	local pool = cache[row] or cache[sub(row, 1, NAME_LEN)]
	return pool and pool.is_current and pool or nil
end

-- The pool as it is now, or nil; likewise. `is_settled`: changes.is_settled() has just been true.
function _M.get(row, is_settled)
	local key = sub(row, 1, NAME_LEN)
	local pool = cache[key]
	if is_settled and pool and pool.is_current then
		return pool
	end
	local keep = changes.is_settled()
	pool = cache[key]
	if keep and pool and pool.is_current then
		return pool
	end
	return refresh(key, pool, keep)
end

-- Whether connections to the endpoint that are kept may be somebody else's. Once they cannot be, it is asked no more.
function _M.is_to_be_met_anew(peer)
	if peer.is_new and not left:get(peer.name) and ngx.now() >= anybody_left_until then
		peer.is_new = false
	end
	return peer.is_new
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

function choosers.fastest(pool, tried)
	return fastest.choose(pool.active, function(peer) return badness(pool, peer, tried) end)
end

-- `client`: what the request is told apart by.
function choosers.hash(pool, tried, client)
	local function bad(peer)
		return badness(pool, peer, tried)
	end
	if (pool.subset or 1) > 1 then
		pool.ring = pool.ring or ring.of_groups(pool.active, pool.subset)
		return ring.pick_of_group(pool.ring, crc32(client), bad)
	end
	pool.ring = pool.ring or ring.new(pool.active)
	return ring.pick(pool.ring, crc32(client), bad)
end

-- Of who has a cookie of ours.
local function kept_peer(pool, settings, wanted)
	if settings.affinity then
		return sessions.peer(pool, settings, wanted)
	end
	return pool.by_id[wanted]
end

local function begin_session(pool, tried)
	return sessions.begin(pool, function(peer) return badness(pool, peer, tried) end)
end

-- An endpoint for a new try, or nil; and, where it has `settings` of stickiness, what the client's cookie says of it. `tried` is a set of ids, `wanted` what the
-- cookie says that the client sent; both may be nil.
function _M.pick(pool, client, tried, wanted, settings)
	local peer = wanted and kept_peer(pool, settings, wanted)
	if peer and (settings.stays or badness(pool, peer, tried) == 0) then
		return peer, wanted
	end
	if #pool.active == 0 then
		return nil
	end
	if settings and settings.affinity and settings.affinity.balanced then
		return begin_session(pool, tried)
	end
	peer = (choosers[pool.algo] or choosers.rr)(pool, tried, client)
	return peer, peer.id
end

-- Certificate and key for the endpoints of a pool, in PEM; nil when they are not there.
function _M.client_pair(tls)
	local length, rest = match(store.get(tls.client) or "", "^(%d+)\n(.*)$")
	if not length then
		return nil
	end
	return sub(rest, 1, tonumber(length)), sub(rest, tonumber(length) + 1)
end

function _M.note_failure(peer)
	failed:set(peer.name, true, FAILED_FOR_S)
	-- For metrics: whoever chooses asks his own worker's.
	health:set("- " .. peer.name, 0, FAILED_FOR_S)
end

return _M
