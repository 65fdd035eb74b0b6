-- SPDX-License-Identifier: Apache-2.0
-- A request on its way through the phases, while rows change.
local VERSION = "!version"

local balancer = { get_last_failure = function() return "failed" end }
package.preload["ngx.balancer"] = function() return balancer end
package.preload["ngx.process"] = function() return {} end
package.preload["resty.core.base"] = function() return { get_request = function() return 4096 end } end

-- The module, in an nginx with these rows, in which a request for http://a/ has come.
local function start(rows)
	for key, value in pairs(rows) do
		ngx.shared.sluice:set(key, value)
	end
	package.loaded["sluice.headers"] = { look = function() return "a", false, false, false end, has_plain_target = function() return true end,
		forwarded = function() return "" end }
	ngx.ctx, ngx.header = {}, {}
	ngx.var = { host = "a", request_uri = "/", remote_addr = "10.9.9.9", scheme = "http", sluice_upgrade = "" }
	ngx.print = function() end
	ngx.exit = function(code) return code end
	return require("sluice.request")
end

local ROWS = { [VERSION] = 2, ["!longest"] = 20, ["Whost:l:a"] = "a", ["Pa/"] = "p", ["Opool:p"] = "proto http\ne a 1 10.0.0.1 80\n" }

local tests = {}

-- A worker that looks while another one takes a batch hands the request to the pool's location.
function tests.a_pool_that_goes_while_a_request_is_handed_over_gets_it()
	local request = start(ROWS)
	local location
	ngx.shared.sluice:set(VERSION, 3)
	ngx.exec = function(name)
		location = name
		ngx.shared.sluice:delete("Opool:p")
		return request.access_named()
	end
	request.access("http:l")
	assert(location == "@http" and ngx.status == nil, ngx.status)
	assert(ngx.ctx.peer.ip == "10.0.0.1")
end

function tests.a_location_that_is_entered_by_itself_serves_nobody()
	local request = start(ROWS)
	request.access_named()
	assert(ngx.status == 503 and ngx.ctx.peer == nil)
end

function tests.what_was_handed_over_counts_once()
	local request = start(ROWS)
	ngx.shared.sluice:set(VERSION, 3)
	ngx.exec = request.access_named
	request.access("http:l")
	assert(ngx.ctx.peer)
	ngx.ctx = {}
	request.access_named()
	assert(ngx.status == 503 and ngx.ctx.peer == nil)
end

-- $host is that of the target, $request_uri is without it.
function tests.a_target_for_another_host_is_refused_whatever_is_kept()
	local request = start(ROWS)
	require("sluice.pools").get("p")
	for _ = 1, 2 do
		request.access("http:l")
		assert(ngx.status == nil and ngx.var.sluice_upstream)
	end
	ngx.var.host, ngx.var.sluice_upstream = "b", nil
	request.access("http:l")
	assert(ngx.status == 400 and not ngx.var.sluice_upstream)
end

-- It has been decided for a plain pool; when that endpoint fails, the pool has become another.
function tests.who_is_asked_next_is_asked_in_plain_http_only_if_the_pool_is_plain()
	for _, case in ipairs({ { "proto http", 2 }, { "proto https", 0 }, { "proto http\nsticky c - -", 0 } }) do
		require("standin").reset()
		local request = start(ROWS)
		local connected = 0
		balancer.set_current_peer = function()
			connected = connected + 1
			return true
		end
		require("sluice.pools").get("p")
		request.access("http:l")
		request.balance()
		assert(connected == 1 and ngx.var.sluice_upstream)
		ngx.shared.sluice:set(VERSION, 4)
		ngx.shared.sluice:set("Opool:p", case[1] .. "\ne a 1 10.0.0.1 80\n")
		ngx.var.http_host, ngx.var.sluice_view, ngx.var.upstream_addr = "a", "http:l", "10.0.0.1:80"
		request.balance()
		assert(connected == math.max(1, case[2]), case[1])
	end
end

return tests
