-- SPDX-License-Identifier: Apache-2.0
-- What follows when it is known where a path leads to: the rule and the pool of a route are chosen, what its policy wants is done, and the request is freed of what only
-- we may say.
local access_log = require("sluice.access_log")
local asked_of = require("sluice.asked")
local bodies = require("sluice.bodies")
local headers = require("sluice.headers")
local lookup = require("sluice.lookup")
local pools = require("sluice.pools")
local route = require("sluice.route")
local serve = require("sluice.serve")
local traffic = require("sluice.traffic")
local ways = require("sluice.ways")

local _M = {}

local lower, is_route = string.lower, route.is_route
local find_pool, find_by_rules = lookup.find_pool, lookup.find_by_rules
local ask_error_pool, finish, hand_over, location_of, stay_late = serve.ask_error_pool, serve.finish, serve.hand_over, serve.location_of, serve.stay_late

local function prepare_upgrade(var)
	local upgrade = var.http_upgrade
	if upgrade and #upgrade == #"websocket" and lower(upgrade) == "websocket" then
		var.sluice_upgrade = "websocket"
		var.sluice_connection = "upgrade"
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

_M.choose, _M.follow, _M.follow_rules, _M.go_to_pool = choose, follow, follow_rules, go_to_pool

return _M
