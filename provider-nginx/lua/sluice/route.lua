-- SPDX-License-Identifier: Apache-2.0
-- From listener, host and path to the name of a pool, by the rows that provider-proxy/routes.h describes. Rows that are found by their
-- whole key stand in the dictionary under `W` and the key, those that are found by the longest prefix under `P` and the key.
local store = require("sluice.store")
local uri = require("sluice.uri")

local _M = {}

local get = store.get
local find, sub = string.find, string.sub

-- Where the path's elements end, in path .. "/"; no more of them than the deepest row has. A path that was cut has no end of its own.
local function ends_of(path, depth, is_cut)
	local ends, count = {}, 0
	local at = find(path, "/", 1, true)
	while at do
		if count == depth then
			return ends, count
		end
		count = count + 1
		ends[count] = at
		at = find(path, "/", at + 1, true)
	end
	if count < depth and not is_cut then
		count = count + 1
		ends[count] = #path + 1
	end
	return ends, count
end

-- What is longer than any row is not looked up: a key costs its length each time.
local function route_of(host, path)
	local room = store.longest() - 1 - #host
	local is_cut = #path > room
	local route = not is_cut and get("W" .. host .. path)
	if route then
		return route
	end
	local ends, count = ends_of(is_cut and sub(path, 1, room) or path, store.depth(), is_cut)
	local slashed = "P" .. host .. sub(path, 1, room) .. "/"
	local before = 1 + #host
	for i = count, 1, -1 do
		route = get(sub(slashed, 1, before + ends[i]))
		if route then
			return route
		end
	end
	return nil
end

-- `host` is lower case, without port and trailing dot; `path` is as sent, without the query. The pool's name, or nil.
function _M.find(lb, host, path, is_tls)
	local hosts = "Whost:" .. lb .. ":"
	local name = host ~= "" and get(hosts .. host)
	if not name then
		local parent = uri.parent_of(host)
		name = parent and get(hosts .. "*" .. parent) or get(hosts .. "*")
	end
	if name and not is_tls then
		name = get("Wplain:" .. name) or name
	end
	return name and route_of(name, path) or get("Wdefault:" .. lb)
end

return _M
