-- SPDX-License-Identifier: Apache-2.0
-- What a request leads to, by its Host header and its path: a pool, or a route and the pool of the rule that takes it.
local asked_of = require("sluice.asked")
local headers = require("sluice.headers")
local pools = require("sluice.pools")
local question = require("sluice.question")
local route = require("sluice.route")
local traffic = require("sluice.traffic")
local uri = require("sluice.uri")

local _M = {}

local split_host, normal_name, path_of = uri.split_host, uri.normal_name, uri.path_of
local is_route, kept_host, view_of = route.is_route, route.kept, route.view
local is_for, has_plain_target, plain_path = headers.is_for, headers.has_plain_target, headers.plain_path
local LOOKUPS_MAX = 3

local function look_up(view, name, path, is_anew)
	local key, matched = route.find(view, name, path, is_anew)
	return key, key and (is_route(key) or pools.get(key)), matched
end

-- The name of the pool, and the pool; both nil: no route. Of a route its name, and true.
function _M.find_pool(view, name, path)
	local key, pool, matched = look_up(view, name, path, false)
	-- Other workers change rows meanwhile: when the pool has gone since its route was found, the route leads elsewhere by now.
	local lookups = 1
	while key and not pool and lookups < LOOKUPS_MAX do
		key, pool, matched = look_up(view, name, path, true)
		lookups = lookups + 1
	end
	return key, pool, matched
end

-- The Host header's name and the target's path; nil: nobody may send such.
function _M.read_target(var, header)
	local name = split_host(header)
	local path = path_of(var.request_uri)
	if not name or not path then
		return nil
	end
	name = normal_name(name)
	-- $host is that of the target when that has an authority. Who reads the other one would serve another host.
	local target_name = split_host(var.host)
	if not target_name or normal_name(target_name) ~= name then
		return nil
	end
	return name, path
end

-- The pool of the rule that takes the request, if there is one; without any rule the default pool.
function _M.find_by_rules(asked, key, path)
	local is_found, pool
	for attempt = 1, LOOKUPS_MAX do
		if attempt > 1 then
			asked.is_settled = false
			key = route.find(asked.view, asked.name, path, true)
		end
		if not key or not is_route(key) then
			return key and pools.get(key)
		end
		is_found, pool = traffic.find(asked, key)
		if is_found then
			break
		end
	end
	if is_found and not asked.rule then
		local default = route.default_of(asked.view)
		return default and pools.get(default), default ~= nil
	end
	return pool, true
end

-- The name of the pool or the route, or nil; only after changes.is_settled(). Of a route also its host's name, the path and, as route.find() has it, the path by which it
-- was found. Most clients send a name as rows have it: of their targets nothing is copied for a pool.
function _M.find_settled(view, header, var)
	local kept = kept_host(view, header)
	local only = kept and kept.only
	if only and is_for(header) and has_plain_target() then
		return only, header, is_route(only) and plain_path()
	end
	local host = var.host
	local path = path_of(var.request_uri)
	local name = kept and header or split_host(header)
	-- A target with an authority of its own: see read_target().
	if not path or not name or normal_name(name) ~= host then
		return nil
	end
	local key, matched = route.find(view, host, path)
	return key, host, path, matched
end

-- The pool of a request on the short way, as rows are now.
function _M.find_again(var)
	-- Only the server that questions go to is no listener's.
	if (var.sluice_view or "") == "" then
		return question.pool()
	end
	local view, header = view_of(var.sluice_view), var.http_host or ""
	local name, path = _M.read_target(var, header)
	local key, pool, matched = _M.find_pool(view, name, path)
	if key and is_route(key) then
		return (_M.find_by_rules(asked_of.new(view, 0, header, name, path, matched), key, path))
	end
	return pool
end

return _M
