-- SPDX-License-Identifier: Apache-2.0
-- One request: checked, routed, freed of what only we may say, and handed to the location of its pool's protocol.
local route = require("sluice.route")
local pools = require("sluice.pools")
local sticky = require("sluice.sticky")
local uri = require("sluice.uri")
local balancer = require("ngx.balancer")
local process = require("ngx.process")

local _M = {}

local find, lower = string.find, string.lower
local split_host, normal_name, path_of = uri.split_host, uri.normal_name, uri.path_of
local LONG_S = 3600 -- how long an upgraded connection may be silent
local TRIES_MAX = 3
local LOOKUPS_MAX = 3
local HEADERS_MAX = 256 -- of a request, as with tune.http.maxhdr of HAProxy
local CLAIMS_MAX = 32 -- names of headers that are ours to say: for each that is dropped nginx walks all headers
local PROBE = "probe" -- in the place of a pool

local function finish(status, text)
	ngx.status = status
	ngx.header["Content-Type"] = "text/plain"
	ngx.print(text)
	return ngx.exit(status)
end

-- What only we say of a client is ours to say: whatever came under these names is dropped. False: there is more than anybody needs.
local function drop_foreign_claims()
	local headers, problem = ngx.req.get_headers(HEADERS_MAX)
	local count = 0
	if problem then
		return false
	end
	for name in pairs(headers) do
		if find(name, "^x%-forwarded%-") or name == "forwarded" or name == "x-real-ip" then
			count = count + 1
			if count > CLAIMS_MAX then
				return false
			end
			ngx.req.clear_header(name)
		end
	end
	return true
end

local function tell_forwarded(var, host)
	local client = var.remote_addr
	local who = find(client, ":", 1, true) and '"[' .. client .. ']"' or client
	var.sluice_forwarded = "for=" .. who .. (host ~= "" and ';host="' .. host .. '"' or "") .. ";proto=" .. var.scheme
end

local function prepare_upgrade(var, ctx)
	local upgrade = var.http_upgrade
	if upgrade and #upgrade == #"websocket" and lower(upgrade) == "websocket" then
		var.sluice_upgrade = "websocket"
		var.sluice_connection = "upgrade"
		ctx.is_long = true
	end
end

-- Finds the pool and an endpoint to begin with, in ngx.ctx.
local function prepare_pool(ctx, pool)
	if not pool then
		return finish(503, "no endpoints\n")
	end
	ctx.pool = pool
	ctx.client = ngx.var.remote_addr
	if pool.sticky then
		ctx.wanted = sticky.read(pool.sticky)
	end
	ctx.peer = pools.pick(pool, ctx.client, nil, ctx.wanted)
	if not ctx.peer then
		return finish(503, "no endpoints\n")
	end
end

local named = { https = "@https", h2c = "@h2c", h2 = "@h2" }

-- The location of a pool; nil: nobody of it can be spoken to.
local function location_of(var, pool)
	local tls = pool.tls
	if not tls then
		return named[pool.proto] or ""
	end
	if not pools.trusts[tls.trust] then
		return nil
	end
	var.sluice_server_name = tls.name or var.sluice_server_name
	if tls.client then
		local chain, key = pools.client_pair(tls)
		if not chain then
			return nil
		end
		var.sluice_client, var.sluice_client_key = "data:" .. chain, "data:" .. key
	elseif tls.trust == "off" then
		return named[pool.proto]
	end
	return "@" .. pool.proto .. "_" .. tls.trust
end

-- The provider asks whether we answer, through our own ports (provider-proxy/probe.h).
local function answer_probe()
	ngx.header["Content-Type"] = "text/plain"
	ngx.print(process.get_master_pid())
	return ngx.exit(200)
end

-- Access phase of the one location that every request enters by.
function _M.access()
	local var = ngx.var
	local header = var.http_host or ""
	local name = split_host(header)
	local path = path_of(var.request_uri)
	if not name or not path then
		return finish(400, "bad request\n")
	end
	-- $host is that of the target when that has an authority. Who reads the other one would serve another host.
	local target_name = split_host(var.host)
	if not target_name or normal_name(target_name) ~= normal_name(name) then
		return finish(400, "bad request\n")
	end
	-- Other workers change rows meanwhile: when the pool has gone since its route was found, the route leads elsewhere by now.
	local key, pool
	for _ = 1, LOOKUPS_MAX do
		key = route.find(var.sluice_lb, normal_name(name), path, var.sluice_tls == "1")
		if not key then
			return finish(404, "no route\n")
		end
		pool = pools.get(key)
		if pool then
			break
		end
	end
	if key == PROBE then
		return answer_probe()
	end
	if not drop_foreign_claims() then
		return finish(400, "bad request\n")
	end
	tell_forwarded(var, header)
	var.sluice_host = header
	var.sluice_server_name = normal_name(name)
	local ctx = ngx.ctx
	prepare_upgrade(var, ctx)
	local location = pool and location_of(var, pool)
	if not location then
		return finish(503, "no endpoints\n")
	end
	if location ~= "" then
		-- There an endpoint is chosen: two choices a request would give each second endpoint nothing.
		var.sluice_pool = key
		return ngx.exec(location)
	end
	return prepare_pool(ctx, pool)
end

-- Access phase of the other locations: entering them has emptied ngx.ctx.
function _M.access_named()
	local ctx = ngx.ctx
	ctx.is_long = ngx.var.sluice_upgrade ~= ""
	return prepare_pool(ctx, pools.get(ngx.var.sluice_pool))
end

-- Balancer phase: once for every try.
function _M.balance()
	local ctx = ngx.ctx
	local pool, peer = ctx.pool, ctx.peer
	if ctx.tried then
		pools.note_failure(peer)
		peer.busy = peer.busy - 1
		ctx.tried[peer.id] = true
		peer = pools.pick(pool, ctx.client, ctx.tried)
		ctx.peer = peer
	else
		ctx.tried = {}
		local tries = math.min(TRIES_MAX, #pool.active)
		if tries > 1 then
			balancer.set_more_tries(tries - 1)
		end
	end
	peer.busy = peer.busy + 1
	local ok, problem = balancer.set_current_peer(peer.ip, peer.port)
	if not ok then
		ngx.log(ngx.ERR, "sluice: endpoint ", peer.name, ": ", problem)
		return ngx.exit(502)
	end
	if ctx.is_long then
		balancer.set_timeouts(5, LONG_S, LONG_S)
	end
end

function _M.log()
	local ctx = ngx.ctx
	if ctx.tried and ctx.peer then
		ctx.peer.busy = ctx.peer.busy - 1
	end
end

return _M
