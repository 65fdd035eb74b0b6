-- SPDX-License-Identifier: Apache-2.0
-- Which endpoint of its pool a request goes to, and to which other one when that fails.
local access_log = require("sluice.access_log")
local lookup = require("sluice.lookup")
local pools = require("sluice.pools")
local traffic = require("sluice.traffic")
local ways = require("sluice.ways")
local balancer = require("ngx.balancer")
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request

local _M = {}

local gmatch = string.gmatch
local cast, uintptr = ffi.cast, ffi.typeof("uintptr_t")
local BUSY = -3 -- with which nginx asks no other endpoint and answers with 502
local ANEW = "anew_" -- and the protocol: the upstream that keeps no connections

-- From the rewrite phase of a request on the short way to its balancer phase, which follows at once. Whoever finds somebody else's decides again.
local decided_for, decided_pool, decided_peer = 0, nil, nil

local function request_id()
	return tonumber(cast(uintptr, get_request()))
end

-- Among the upstreams of a protocol each pool has one, so that no list of kept connections is long.
function _M.upstream_of(pool, peer)
	return pools.is_to_be_met_anew(peer) and ANEW .. pool.proto or pool.upstream
end

-- A request begins: whatever has been decided was for another one.
function _M.begin()
	decided_for = 0
end

-- On the short way nothing is kept of a request but this.
function _M.decide(pool, peer)
	decided_for, decided_pool, decided_peer = request_id(), pool, peer
	return _M.upstream_of(pool, peer)
end

local function connect(peer)
	local ok, problem = balancer.set_current_peer(peer.ip, peer.port)
	if not ok then
		ngx.log(ngx.ERR, "sluice: endpoint ", peer.name, ": ", problem)
		return ngx.exit(502)
	end
end

local function allow_tries(pool, retries)
	local tries = ways.tries(retries, #pool.active)
	if tries > 1 then
		balancer.set_more_tries(tries - 1)
	end
end

-- On the short way nothing is kept of a request: who has failed it is in nginx's own list.
local function note_tried(pool)
	local tried, last = {}, nil
	for address in gmatch(ngx.var.upstream_addr or "", "[^, ]+") do
		for id, peer in pairs(pool.by_id) do
			if address == peer.address then
				tried[id], last = true, peer
			end
		end
	end
	if last then
		pools.note_failure(last)
	end
	-- They are last, too: in this upstream there may be old connections to them.
	for id, peer in pairs(pool.by_id) do
		tried[id] = tried[id] or pools.is_to_be_met_anew(peer) or nil
	end
	return tried
end

-- A try on the short way that is not the first, or whose decision is not at hand.
local function balance_again()
	local var = ngx.var
	local pool = lookup.find_again(var)
	-- Rows may have changed meanwhile, and this location speaks plain HTTP to anybody.
	local peer = pool and pool.is_plain and pools.pick(pool, var.remote_addr, note_tried(pool))
	if not peer then
		return ngx.exit(502)
	end
	if not balancer.get_last_failure() then
		allow_tries(pool)
	elseif access_log.is_on then
		access_log.retried()
	end
	return connect(peer)
end

-- Whether a try that has failed is followed by another one; `retries`: what the policy says of that, if it does.
local function is_tried_again(ctx, retries)
	local is_wanted, has_answered, status = true, false, nil
	if retries then
		is_wanted, has_answered, status = ways.judge(retries, ctx.asked, ngx.now() - ctx.began)
	end
	if not has_answered then
		pools.note_failure(ctx.peer)
	end
	ctx.refused = not is_wanted and status or nil
	return is_wanted
end

-- Where requests enter nobody would take them off again.
local function count_busy(ctx, change)
	if not ctx.stays_here then
		ctx.peer.busy = ctx.peer.busy + change
	end
end

-- The endpoint of a try that is not the first; nil: there is none.
local function next_peer(ctx, pool, retries)
	if not is_tried_again(ctx, retries) then
		return nil
	end
	-- It was a connection that had been kept too long.
	if ctx.stays then
		return ctx.peer
	end
	count_busy(ctx, -1)
	ctx.tried[ctx.peer.id] = true
	ctx.peer, ctx.session = pools.pick(pool, ctx.client, ctx.tried, nil, ctx.sticky)
	count_busy(ctx, 1)
	if access_log.is_on then
		access_log.retried()
	end
	return ctx.peer
end

local function first_peer(ctx, pool, retries)
	ctx.tried = {}
	ctx.stays = ctx.wanted == ctx.session and ctx.sticky and ctx.sticky.stays
	if retries then
		ctx.began = ngx.now()
	end
	if not ctx.stays then
		allow_tries(pool, retries)
	end
	count_busy(ctx, 1)
	return ctx.peer
end

-- A try in the location of a protocol.
local function balance_closely(ctx)
	local retries = ctx.asked and ctx.asked.policy and ctx.asked.policy.retries
	local peer = (ctx.tried and next_peer or first_peer)(ctx, ctx.pool, retries)
	if not peer then
		return ngx.exit(BUSY)
	end
	connect(peer)
	if ctx.is_long or ctx.asked then
		traffic.set_timeouts(ctx.asked, ctx.is_long)
	end
end

-- Balancer phase: once for every try.
function _M.run()
	if decided_for == request_id() then
		decided_for = 0
		if #decided_pool.active > 1 then
			allow_tries(decided_pool)
		end
		connect(decided_peer)
		return
	end
	local ctx = ngx.ctx
	if ctx.pool then
		return balance_closely(ctx)
	end
	return balance_again()
end

return _M
