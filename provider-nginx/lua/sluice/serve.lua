-- SPDX-License-Identifier: Apache-2.0
-- How a request is served whose pool is known: where it is, or by the location of the pool's protocol, to which it is handed over; there until its end.
local access_log = require("sluice.access_log")
local answer = require("sluice.answer")
local balance = require("sluice.balance")
local bodies = require("sluice.bodies")
local errors = require("sluice.errors")
local fastest = require("sluice.fastest")
local pools = require("sluice.pools")
local sticky = require("sluice.sticky")
local traffic = require("sluice.traffic")
local ways = require("sluice.ways")
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request

local _M = {}

local decide, upstream_of = balance.decide, balance.upstream_of
local cast, uintptr = ffi.cast, ffi.typeof("uintptr_t")

-- The pool of a request that is being handed to another location, which it enters at once.
local handed_for, handed_pool, handed_asked = 0, nil, nil

-- What ngx.ctx was in the location of a protocol, of those that have not ended: where nginx's own errors go to it is not known any more.
local under_way = {}

local function request_id()
	return tonumber(cast(uintptr, get_request()))
end

-- `why`: as in doc/access-logs.md.
local function finish(status, text, why)
	if access_log.is_on then
		access_log.refused(why)
	end
	ngx.status = status
	ngx.header["Content-Type"] = "text/plain"
	ngx.header["Content-Length"] = #text
	ngx.print(text)
	return ngx.exit(status)
end

-- How sessions of the request are kept, or nil: a canary has those of its main pool, if any.
local function stickiness_of(asked, pool)
	local canary = asked and not asked.is_error and asked.rule and asked.rule.canary
	if not canary or canary.pool ~= pool.key then
		return pool.sticky
	end
	local main = not canary.is_loose and pools.get(canary.main)
	return main and main.sticky
end

-- Puts the pool and an endpoint to begin with into ngx.ctx; false: there is none.
local function choose_peer(ctx, pool)
	ctx.pool = pool
	if pool.hash or pool.algo == "source" then
		ctx.client = pool.hash and ctx.asked and pool.hash(ctx.asked) or ngx.var.remote_addr
	end
	ctx.sticky = stickiness_of(ctx.asked, pool)
	ctx.wanted = ctx.sticky and sticky.read(ctx.sticky)
	ctx.peer, ctx.session = pools.pick(pool, ctx.client, nil, ctx.wanted, ctx.sticky)
	return ctx.peer ~= nil
end

local function prepare_pool(ctx, pool)
	if not pool or not choose_peer(ctx, pool) then
		return finish(503, "no endpoints\n", "no-endpoints")
	end
	ngx.var.sluice_upstream = upstream_of(pool, ctx.peer)
end

local named = { http = "@http", https = "@https", h2c = "@h2c", h2 = "@h2" }

-- The location of a pool; nil: nobody of it can be spoken to.
local function location_of(var, pool)
	local tls = pool.tls
	if not tls then
		return named[pool.proto]
	end
	if not pools.trusts[tls.trust] then
		return nil
	end
	var.sluice_server_name = tls.name or (not tls.is_nameless and var.sluice_server_name) or ""
	if tls.client then
		local chain, key = pools.client_pair(tls)
		if not chain then
			return nil
		end
		var.sluice_client, var.sluice_client_key = "data:" .. chain, "data:" .. key
	elseif tls.trust == "off" and not tls.name then
		return named[pool.proto]
	end
	-- Connections that are made for nobody else: one that is kept was made by another pool of the same address perhaps, with another name.
	return "@" .. pool.proto .. "_" .. tls.trust
end

-- There an endpoint is chosen: two choices a request would give each second endpoint nothing. But of this pool, although it may have gone by then:
-- when it was found it was the right one.
local function hand_over(location, pool, asked)
	handed_for, handed_pool, handed_asked = request_id(), pool, asked
	return ngx.exec(location)
end

-- Whether a try that fails can be followed by another one although nothing is kept of the request: its rule is found again, and leads to the same pool.
local function can_be_found_again(asked, pool)
	local rule, policy = asked.rule, asked.policy
	return pool.is_plain and not asked.is_question and not (rule and (rule.pools or rule.canary or rule.client)) and (not policy or policy.is_done_at_once)
end

-- The request is served by the location that it has entered by: to hand it over costs more than most policies. Its upstream; nil: there is no endpoint.
local function stay(pool, asked)
	local upstream
	if can_be_found_again(asked, pool) then
		local peer = pools.pick(pool, pool.algo == "source" and ngx.var.remote_addr)
		upstream = peer and decide(pool, peer)
		asked.is_done = upstream ~= nil
	else
		-- With room for what the balancer puts there.
		local ctx = { asked = asked, stays_here = true, is_long = false, pool = false, sticky = false, wanted = false, peer = false, session = false, tried = false, stays = false }
		ngx.ctx = ctx
		upstream = choose_peer(ctx, pool) and upstream_of(pool, ctx.peer)
	end
	local target = asked.backend_target
	return upstream and target and upstream .. target or upstream
end

-- Likewise, in the access phase.
local function stay_late(pool, asked)
	local upstream = stay(pool, asked)
	if not upstream then
		return finish(503, "no endpoints\n", "no-endpoints")
	end
	ngx.var.sluice_upstream = upstream
end

-- The pool that answers in place of the error is asked, or a status does, which does not return; without either nothing is done. `is_backend`: the error is its own.
local function ask_error_pool(asked, status, is_backend)
	local pool, missing = errors.instead_of(asked, status, is_backend)
	local location = pool and location_of(ngx.var, pool)
	if location then
		errors.prepare(asked, pool, status, traffic.change_request)
		return hand_over(location_of(ngx.var, pool), pool, asked)
	elseif missing then
		errors.begin(asked, status)
		asked.is_answered = true
		return answer.finish(asked, missing, "nobody answers in place of the error\n")
	end
end

-- Access phase of the other locations: entering them has emptied ngx.ctx.
function _M.access_named()
	local ctx, pool = ngx.ctx, handed_for == request_id() and handed_pool
	ctx.asked = pool and handed_asked
	handed_for, handed_pool, handed_asked = 0, nil, nil
	ctx.is_long = ngx.var.sluice_upgrade ~= ""
	under_way[request_id()] = ctx
	return prepare_pool(ctx, pool)
end

local BODY_WORDS = { [bodies.TOO_LONG] = "the body is too large\n", [bodies.TOO_MANY] = "too many bodies are being read\n" }

-- Access phase of the locations in which bodies are read as a whole (bodies.lua), which may take long.
function _M.access_body()
	local ctx, pool = ngx.ctx, handed_for == request_id() and handed_pool
	ctx.asked = pool and handed_asked
	handed_for, handed_pool, handed_asked = 0, nil, nil
	if not ctx.asked then
		return finish(503, "no endpoints\n", "no-endpoints")
	end
	local asked = ctx.asked
	local refusal = bodies.read(asked)
	if refusal then
		ask_error_pool(asked, refusal)
		return finish(refusal, BODY_WORDS[refusal], refusal == bodies.TOO_LONG and "body-limit" or "busy")
	end
	-- Its endpoints may be others by now.
	pool = pools.get(pool.key) or pool
	local location = #pool.active > 0 and location_of(ngx.var, pool)
	if not location then
		ask_error_pool(asked, 503)
		return finish(503, "no endpoints\n", "no-endpoints")
	end
	ctx.asked = nil
	return hand_over(ways.location_of(asked, location), pool, asked)
end

local function leave_peer(ctx)
	if ctx.tried and ctx.peer then
		ctx.peer.busy = ctx.peer.busy - 1
		ctx.peer = nil
	end
end

-- Access phase of the locations that errors go to. `status`: one of nginx's own; nil: the backend has sent it, and somebody else is to answer in its place.
function _M.access_failed(status)
	local ctx = under_way[request_id()]
	if ctx then
		ngx.ctx = ctx
		leave_peer(ctx)
		ctx.has_failed = true
		if ctx.asked then
			ask_error_pool(ctx.asked, ctx.error_status or ctx.refused or status, status == nil)
		end
	end
	return ngx.exit(status or 502)
end

-- Log phase of the locations of protocols.
function _M.log()
	local ctx = ngx.ctx
	under_way[request_id()] = nil
	leave_peer(ctx)
	if ctx.asked then
		traffic.release(ctx.asked)
	end
	if ctx.pool and ctx.pool.algo == "fastest" then
		fastest.note(ngx.var)
	end
	if access_log.has_lines then
		access_log.write(ctx.pool)
	end
end

_M.request_id, _M.finish, _M.location_of, _M.hand_over, _M.stay, _M.stay_late, _M.ask_error_pool = request_id, finish, location_of, hand_over, stay, stay_late, ask_error_pool

return _M
