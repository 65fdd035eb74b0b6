-- SPDX-License-Identifier: Apache-2.0
-- One request: checked, routed, freed of what only we may say, and handed to the location of its pool's protocol.
--
-- Most requests want a path of a plain pool over HTTP: they take the short way, in which nothing is read or written but what decides. So do those of which a
-- policy wants nothing but what can be done at once. It ends before the access phase, for which nginx's Lua module makes each request a thread. All others go
-- on there, and most of them are handed to the location of their pool's protocol.
local access_log = require("sluice.access_log")
local answer = require("sluice.answer")
local asked_of = require("sluice.asked")
local balance = require("sluice.balance")
local bodies = require("sluice.bodies")
local changes = require("sluice.changes")
local errors = require("sluice.errors")
local fastest = require("sluice.fastest")
local headers = require("sluice.headers")
local lookup = require("sluice.lookup")
local question = require("sluice.question")
local route = require("sluice.route")
local pools = require("sluice.pools")
local sticky = require("sluice.sticky")
local traffic = require("sluice.traffic")
local uri = require("sluice.uri")
local ways = require("sluice.ways")
local process = require("ngx.process")
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request

local _M = {}

local find, lower = string.find, string.lower
local is_settled, known, view_of, is_route, look = changes.is_settled, pools.known, route.view, route.is_route, headers.look
local find_pool, find_by_rules, find_settled, read_target = lookup.find_pool, lookup.find_by_rules, lookup.find_settled, lookup.read_target
local begin, decide, upstream_of = balance.begin, balance.decide, balance.upstream_of
local cast, uintptr = ffi.cast, ffi.typeof("uintptr_t")
local QUESTIONS = { is_tls = false }
local PROBE = "probe" -- in the place of a pool
local LATER, MOVED, FIRST = "later", "moved", "first" -- in the place of an upstream: nginx.conf.tmpl
local FIRST_UPSTREAM = pools.FIRST

-- Of a request that a rule takes, but that goes on in the access phase, which follows at once: what has been found of it.
local entered_for, entered_asked = 0, nil
-- What has been made for a request of which nothing is kept. To make it anew, and to collect it, costs as much as most policies.
local spare_asked = nil
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

local function prepare_upgrade(var)
	local upgrade = var.http_upgrade
	if upgrade and #upgrade == #"websocket" and lower(upgrade) == "websocket" then
		var.sluice_upgrade = "websocket"
		var.sluice_connection = "upgrade"
	end
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

-- The provider asks whether we answer, through our own ports (provider-proxy/probe.h).
local function answer_probe()
	ngx.header["Content-Type"] = "text/plain"
	ngx.print(process.get_master_pid())
	return ngx.exit(200)
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

-- What only we may say of the client takes the place of what it says itself. False: it says more than anybody needs.
local function prepare_headers(var, name, header, has_claims)
	if has_claims and not headers.drop_claims() then
		return false
	end
	var.sluice_forwarded, var.sluice_server_name = headers.forwarded(var, header, name)
	prepare_upgrade(var)
	return true
end

local function prepare_asked(asked)
	if asked.stays then
		return
	end
	if not prepare_headers(ngx.var, asked.name, asked.header, asked.has_claims) then
		traffic.release(asked)
		return finish(400, "bad request\n", "bad-request")
	end
end

local answer_page

-- Rule and pool of a request whose path leads to a route. `may_stay`: of its headers nothing has to be changed but what all need.
local function choose(asked, key, has_claims, may_stay)
	local pool, is_there = find_by_rules(asked, key, asked.path)
	if access_log.is_on then
		access_log.chosen(asked.rule, pool)
	end
	if not is_there and not pool then
		asked.has_no_route = true
		return
	end
	asked.chosen, asked.on_error, asked.on_page = pool, ask_error_pool, answer_page
	local fallback = asked.policy and asked.policy.fallback_pool
	if fallback and not (pool and #pool.active > 0) then
		pool, asked.is_fallback = pools.get(fallback) or pool, true
	end
	local location = pool and #pool.active > 0 and location_of(ngx.var, pool)
	if pool and pool.uses_headers then
		asked_of.headers(asked)
	end
	asked.has_claims = has_claims
	local bound = location and bodies.location_of(asked, pool)
	asked.stays = may_stay and location and pool.is_short and not bound and not asked.is_fallback and (not asked.policy or asked.policy.may_stay)
	asked.pool, asked.location, asked.bound = pool, location, bound
end

-- Behind choose(): what its policy wants is done, and then it is passed on.
local function follow(asked)
	local pool, location, bound = asked.pool, asked.location, asked.bound
	if asked.has_no_route then
		return finish(404, "no route\n", "no-route")
	end
	-- Nothing of it is done twice.
	if asked.is_ready then
		return stay_late(pool, asked)
	end
	if asked.rule then
		traffic.go(asked, location and pool, prepare_asked)
	elseif not location then
		return finish(503, "no endpoints\n", "no-endpoints")
	else
		prepare_asked(asked)
	end
	if asked.stays then
		return stay_late(pool, asked)
	end
	-- Preparing headers has named the server as clients call it.
	location = location_of(ngx.var, pool) or location
	if bound then
		return hand_over(bound, pool, asked)
	end
	return hand_over(ways.location_of(asked, location), pool, asked)
end

local function follow_rules(asked, key, has_claims, may_stay)
	choose(asked, key, has_claims, may_stay)
	return follow(asked)
end

-- A request whose path leads to a pool.
local function go_to_pool(asked, pool, name, header, has_claims)
	if asked and pool and pool.uses_headers then
		asked_of.headers(asked)
	end
	if not prepare_headers(ngx.var, name, header, has_claims) then
		return finish(400, "bad request\n", "bad-request")
	end
	local location = pool and location_of(ngx.var, pool)
	if not location then
		return finish(503, "no endpoints\n", "no-endpoints")
	end
	return hand_over(location, pool, asked)
end

-- The rule of another path of the host answers, as if that had been asked for; clients.lua knows that certificates were looked at.
answer_page = function(before, path)
	if ngx.req.get_method() ~= "HEAD" then
		ngx.req.set_method(ngx.HTTP_GET)
	end
	ngx.var.sluice_target = path
	traffic.set_path(path)
	ngx.req.set_uri_args("")
	local key, pool, matched = find_pool(before.view, before.name, path)
	if not key then
		return finish(404, "no route\n", "no-route")
	elseif key == route.BAD then
		return finish(400, "bad request\n", "bad-request")
	end
	local asked = asked_of.new(before.view, before.port, before.header, before.name, path, matched)
	asked.is_page, asked.arguments = true, ""
	if is_route(key) then
		return follow_rules(asked, key, before.has_claims)
	end
	return go_to_pool(asked, pool, asked.name, asked.header, before.has_claims)
end

-- Rewrite phase of the server that questions (question.lua) go to, as with enter().
function _M.enter_question()
	begin()
	local pool = question.pool()
	local peer = pool and pool.is_plain and pools.pick(pool, pool.algo == "source" and ngx.var.remote_addr)
	return peer and decide(pool, peer) or LATER
end

-- Its access phase, likewise.
function _M.access_question()
	local var = ngx.var
	local pool, header, path = question.receive()
	local name = uri.normal_name(uri.split_host(header) or "")
	local asked = asked_of.new(QUESTIONS, 0, header, name, path)
	asked.is_question, var.sluice_server_name = true, name
	local location = pool and #pool.active > 0 and location_of(var, pool)
	if not location then
		return ngx.exit(503)
	end
	if access_log.is_on then
		access_log.leave_out()
	end
	return hand_over(location, pool, asked)
end

-- Every request that is not known to be simple. `may_stay`: as with follow_rules().
local function look_closely(view, port, header, has_claims, is_too_many, may_stay)
	local var = ngx.var
	local name, path = read_target(var, header)
	if not name then
		return finish(400, "bad request\n", "bad-request")
	end
	local key, pool, matched = find_pool(view, name, path)
	if access_log.is_on and pool ~= true then
		access_log.found(key, pool)
	end
	if not key then
		return finish(404, "no route\n", "no-route")
	end
	if key == PROBE then
		if access_log.is_on then
			access_log.leave_out()
		end
		return answer_probe()
	end
	if is_too_many or key == route.BAD then
		return finish(400, "bad request\n", "bad-request")
	end
	if is_route(key) then
		return follow_rules(asked_of.new(view, port, header, name, path, matched), key, has_claims, may_stay)
	end
	local asked = pool and pool.hash and asked_of.new(view, port, header, name, path, matched)
	return go_to_pool(asked, pool, name, header, has_claims)
end

-- What its rule wants is done, if that can be done at once.
local function enter_by_rules(asked, key, origin)
	asked.is_settled, asked.origin = true, origin or ""
	choose(asked, key, false, true)
	local status, location = traffic.redirect_of(asked)
	if status then
		answer.move(asked, status, location)
		spare_asked = asked -- the header filter follows at once
		if access_log.is_on then
			access_log.refused("redirect")
		end
		return MOVED
	end
	asked.is_ready = asked.stays and traffic.pass(asked, asked.pool)
	local upstream = asked.is_ready and stay(asked.pool, asked)
	if asked.is_done then
		spare_asked = asked
	elseif not upstream then
		entered_for, entered_asked = request_id(), asked
	end
	return upstream or LATER
end

local function enter(id, port, is_mixed)
	local view = view_of(id)
	local header, has_claims, has_special, is_too_many, origin = look()
	begin()
	entered_for, entered_asked = 0, nil
	if has_claims or has_special or is_too_many or header == "" then
		return LATER
	end
	local var = ngx.var
	if is_mixed and find(var.remote_addr, ":", 1, true) then
		var.sluice_for_begin, var.sluice_for_end = '"[', ']"'
	end
	if not is_settled() then
		return LATER
	end
	local row, name, path, matched = find_settled(view, header, var)
	if row and is_route(row) then
		local asked = asked_of.new(view, port, header, name, path, matched, spare_asked)
		spare_asked = nil
		return enter_by_rules(asked, row, origin)
	end
	local pool = row and known(row)
	local peer = pool and pool.is_plain and pools.pick(pool, pool.algo == "source" and var.remote_addr)
	if not peer then
		return LATER
	end
	if access_log.is_on then
		access_log.found(row, pool)
	end
	return decide(pool, peer)
end

-- Rewrite phase of the one location that every request enters by: its upstream, or FIRST; LATER: the access phase follows; MOVED: nginx answers. Here nothing else
-- can be answered, or waited for. `id` is that of the listener's view, which $sluice_view has, too; `is_mixed`: there are clients with IPv4 and with IPv6 addresses.
function _M.enter(id, port, is_mixed)
	local upstream = enter(id, port, is_mixed)
	return upstream == FIRST_UPSTREAM and FIRST or upstream
end

-- Its access phase, unless enter() has named an upstream.
function _M.access(id, port)
	if entered_for == request_id() then
		local asked = entered_asked
		entered_for, entered_asked = 0, nil
		return follow(asked)
	end
	local header, has_claims, has_special, is_too_many = look()
	local is_usual = not (has_claims or has_special or is_too_many or header == "")
	return look_closely(view_of(id), port, header, has_claims, is_too_many, is_usual)
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

-- Balancer phase.
_M.balance = balance.run

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

-- Log phase of the short way, if there is an access log.
_M.log_short = access_log.write

-- In the locations of protocols.
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

return _M
