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
local changes = require("sluice.changes")
local follow_of = require("sluice.follow")
local headers = require("sluice.headers")
local lookup = require("sluice.lookup")
local question = require("sluice.question")
local route = require("sluice.route")
local pools = require("sluice.pools")
local serve = require("sluice.serve")
local traffic = require("sluice.traffic")
local uri = require("sluice.uri")
local process = require("ngx.process")

local _M = {}

local find = string.find
local is_settled, known, view_of, is_route, look = changes.is_settled, pools.known, route.view, route.is_route, headers.look
local find_pool, find_settled, read_target = lookup.find_pool, lookup.find_settled, lookup.read_target
local begin, decide = balance.begin, balance.decide
local choose, follow, follow_rules, go_to_pool = follow_of.choose, follow_of.follow, follow_of.follow_rules, follow_of.go_to_pool
local finish, hand_over, location_of, request_id, stay = serve.finish, serve.hand_over, serve.location_of, serve.request_id, serve.stay
local QUESTIONS = { is_tls = false }
local PROBE = "probe" -- in the place of a pool
local LATER, MOVED, FIRST = "later", "moved", "first" -- in the place of an upstream: nginx.conf.tmpl
local FIRST_UPSTREAM = pools.FIRST

-- Of a request that a rule takes, but that goes on in the access phase, which follows at once: what has been found of it.
local entered_for, entered_asked = 0, nil
-- What has been made for a request of which nothing is kept. To make it anew, and to collect it, costs as much as most policies.
local spare_asked = nil

-- The provider asks whether we answer, through our own ports (provider-proxy/probe.h).
local function answer_probe()
	ngx.header["Content-Type"] = "text/plain"
	ngx.print(process.get_master_pid())
	return ngx.exit(200)
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

-- Access phases of the other locations, and their log phase.
_M.access_named, _M.access_body, _M.access_failed, _M.log = serve.access_named, serve.access_body, serve.access_failed, serve.log

-- Balancer phase.
_M.balance = balance.run

-- Log phase of the short way, if there is an access log.
_M.log_short = access_log.write

return _M
