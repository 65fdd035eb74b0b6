-- SPDX-License-Identifier: Apache-2.0
-- From listener, host and path to the name of a pool, by the rows that provider-proxy/routes.h describes. Rows that are found by their
-- whole key stand in the dictionary under `W` and the key, those that are found by the longest prefix under `P` and the key.
--
-- Each worker keeps what it has found, until a batch changes it (changes.lua). What is kept is rows, never what a client has sent: a host or a
-- path without a row of its own leaves nothing behind, so that nobody can fill the memory or push others out.
local changes = require("sluice.changes")
local decode = require("sluice.decode")
local store = require("sluice.store")
local uri = require("sluice.uri")

local _M = { BAD = "bad" } -- BAD: in place of a name, for a path that nobody may send

local KEPT_MAX = 200000 -- rows; beyond them all begins anew

local get = store.get
local find, match, sub, byte = string.find, string.match, string.sub, string.byte

local ROUTE, DECODED_HOST = 114, 100 -- with which names of routes, and of hosts with decoded paths, begin
local views = {} -- by id
local built_on = {} -- by name of a host: which of them were made from its rows
local kept = 0
local reads = 0 -- of the dictionary

local function read(key)
	reads = reads + 1
	return get(key)
end

local function is_room()
	return kept < KEPT_MAX
end

-- Hosts of the listeners that `id` stands for: `https:` or `http:` and the name of their load balancer. `names` has hosts without asterisk,
-- `wildcards` those with one; only rows that exist.
function _M.view(id)
	local view = views[id]
	if not view then
		local kind, lb = match(id, "^(%l+):(.*)$")
		view = { is_tls = kind == "https", hosts = "Whost:" .. lb .. ":", default = "Wdefault:" .. lb, names = {}, wildcards = {} }
		views[id] = view
	end
	return view
end

local function add_built(name, host)
	local list = built_on[name] or {}
	list[#list + 1] = host
	built_on[name] = list
end

local function forget_name(name)
	local list = built_on[name]
	built_on[name] = nil
	for _, host in ipairs(list or {}) do
		if host.place then
			host.place[host.key] = nil
			host.place = nil
			kept = kept - host.kept
		end
		-- The others that were made from the same rows go, too, so that no list outgrows what is kept.
		forget_name(host.name)
		forget_name(host.plain_of)
	end
end

-- `key` in the dictionary without `W` and `P`.
local function forget(key)
	local first = byte(key)
	if first ~= 87 and first ~= 80 then
		return
	end
	local slash = find(key, "/", 2, true)
	if slash then
		return forget_name(sub(key, 2, slash - 1))
	end
	if find(key, "^Wplain:") then
		return forget_name(sub(key, #"Wplain:" + 1))
	end
	for _, view in pairs(views) do
		if sub(key, 1, #view.hosts) == view.hosts then
			local name = sub(key, #view.hosts + 1)
			local host = view.names[name] or view.wildcards[name]
			if host then
				forget_name(host.name)
			end
		end
	end
end

local function forget_all()
	built_on, kept = {}, 0
	for _, view in pairs(views) do
		view.names, view.wildcards = {}, {}
	end
end

changes.subscribe(forget, forget_all)

-- Of the host that a row names. `only`: the pool of all paths, if that is all there is to know.
local function describe(view, plain_of)
	local name = not view.is_tls and read("Wplain:" .. plain_of) or plain_of
	local host = { name = name, plain_of = plain_of, room = store.longest() - 1 - #name, whole = {}, prefixes = {} }
	host.depth, host.has_whole = store.shape(name)
	host.is_decoded = byte(name) == DECODED_HOST
	reads = reads + 1
	if host.depth == 1 and not host.has_whole and not host.is_decoded then
		host.only = read("P" .. name .. "/")
	end
	return host
end

local function host_at(view, place, key, keep)
	local host = keep and place[key]
	if host then
		return host
	end
	local name = read(view.hosts .. key)
	if not name then
		return nil
	end
	host = describe(view, name)
	if keep then
		if not is_room() then
			forget_all()
			place = byte(key) == 42 and view.wildcards or view.names
		end
		host.place, host.key = place, key
		place[key] = host
		add_built(host.name, host)
		if host.plain_of ~= host.name then
			add_built(host.plain_of, host)
		end
		host.kept = 1
		kept = kept + 1
	end
	return host
end

-- Exact, else with its first label replaced, else that of any host.
local function find_host(view, name, keep)
	local host = name ~= "" and host_at(view, view.names, name, keep)
	if not host then
		local parent = uri.parent_of(name)
		host = parent and host_at(view, view.wildcards, "*" .. parent, keep) or host_at(view, view.wildcards, "*", keep)
	end
	return host
end

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

-- The row of `letter`, the host's name and `rest`, which `rows` has or the dictionary.
local function row(host, rows, letter, rest, keep)
	local route = keep and rows[rest]
	if not route then
		route = read(letter .. host.name .. rest)
		if route and keep and is_room() then
			rows[rest] = route
			host.kept, kept = host.kept + 1, kept + 1
		end
	end
	return route
end

-- What is longer than any row is not looked up: a key costs its length each time.
local function route_of(host, path, keep)
	if keep and host.only then
		return host.only
	end
	local room = host.room
	local is_cut = #path > room
	local route = host.has_whole and not is_cut and row(host, host.whole, "W", path, keep)
	if route then
		return route
	end
	local ends, count = ends_of(is_cut and sub(path, 1, room) or path, host.depth, is_cut)
	local slashed = sub(path, 1, room) .. "/"
	for i = count, 1, -1 do
		route = row(host, host.prefixes, "P", sub(slashed, 1, ends[i]), keep)
		if route then
			return route
		end
	end
	return nil
end

-- The name, or BAD; and of a host with decoded paths the path as its rows have it.
local function look_up(view, name, path, keep)
	local host = find_host(view, name, keep)
	if not host or not host.is_decoded then
		return host and route_of(host, path, keep) or read(view.default)
	end
	local decoded = decode.path(path)
	if not decoded then
		return _M.BAD
	end
	local key = decode.encode(decoded)
	return route_of(host, key, keep) or read(view.default), key
end

-- `name` is lower case, without port and trailing dot; `path` is as sent, without the query. The name of the pool or the route, BAD, or nil; and the path by which
-- it was found, if that is another one. With `is_anew` nothing that is kept is believed.
function _M.find(view, name, path, is_anew)
	local keep = not is_anew and changes.is_settled()
	local before = reads
	local found, key = look_up(view, name, path, keep)
	-- What is kept and what is read since then may be of different states.
	if keep and reads ~= before and not changes.is_same() then
		return look_up(view, name, path, false)
	end
	return found, key
end

function _M.is_route(name)
	return byte(name) == ROUTE
end

-- The default pool of the listeners, or nil.
function _M.default_of(view)
	return read(view.default)
end

-- The host of that name if it is kept, or nil; `only` of it is the pool of all its paths, if that is all there is to know. Only after
-- changes.is_settled(). `text` need not be the name of any host; if it is, it is as a row has it.
function _M.kept(view, text)
	return view.names[text]
end

return _M
