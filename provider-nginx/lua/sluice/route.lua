-- SPDX-License-Identifier: Apache-2.0
-- From listener, host and path to the name of a pool, by the rows that provider-local/routes.h describes. Rows that are found by their
-- whole key stand in the dictionary under `W` and the key, those that are found by the longest prefix under `P` and the key.
local store = require("sluice.store")
local uri = require("sluice.uri")

local _M = {}

local get = store.get
local byte, sub = string.byte, string.sub
local SLASH = 47

-- Where the path's elements end, in path .. "/"; no more of them than the deepest row has.
local function ends_of(path, depth)
	local ends, count = {}, 0
	for i = 1, #path do
		if byte(path, i) == SLASH then
			count = count + 1
			if count > depth then
				return ends, depth
			end
			ends[count] = i
		end
	end
	if count < depth then
		count = count + 1
		ends[count] = #path + 1
	end
	return ends, count
end

local function route_of(host, path)
	local route = get("W" .. host .. path)
	if route then
		return route
	end
	local ends, count = ends_of(path, store.depth())
	local slashed = "P" .. host .. path .. "/"
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
