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
	package.loaded["sluice.headers"] = {
		look = function() return "a", false, false, false end, is_for = function(name) return name == ngx.var.host end,
		has_plain_target = function() return true end, plain_path = function() return "/" end, forwarded = function() return "" end,
	}
	ngx.ctx, ngx.header = {}, {}
	ngx.var = { host = "a", request_uri = "/", remote_addr = "10.9.9.9", scheme = "http", sluice_upgrade = "" }
	ngx.print = function() end
	ngx.exit = function(code) return code end
	return require("sluice.request")
end

-- The phases in which a request is routed.
local function enter(request)
	local upstream = request.enter("http:l")
	if upstream == "later" then
		return request.access("http:l")
	end
	ngx.var.sluice_upstream = upstream
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
	enter(request)
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
	enter(request)
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
		enter(request)
		assert(ngx.status == nil and ngx.var.sluice_upstream)
	end
	ngx.var.host, ngx.var.sluice_upstream = "b", nil
	enter(request)
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
		enter(request)
		request.balance()
		assert(connected == 1 and ngx.var.sluice_upstream)
		ngx.shared.sluice:set(VERSION, 4)
		ngx.shared.sluice:set("Opool:p", case[1] .. "\ne a 1 10.0.0.1 80\n")
		ngx.var.http_host, ngx.var.sluice_view, ngx.var.upstream_addr = "a", "http:l", "10.0.0.1:80"
		request.balance()
		assert(connected == math.max(1, case[2]), case[1])
	end
end

-- A path with a rule whose policy is this.
local function rows_of_rule(policy, pool)
	return {
		[VERSION] = 2, ["!longest"] = 20, ["Whost:l:a"] = "a", ["Pa/"] = "r1", ["Wroute:r1"] = "(((path,/),(policy,q),(pool,p)))", ["Wpolicy:q"] = policy,
		["Opool:p"] = pool or "proto http\ne a 1 10.0.0.1 80\ne a 2 10.0.0.2 80\n",
	}
end

-- nginx's Lua module makes a thread for the access phase, and a context costs something, too.
function tests.what_a_policy_wants_at_once_is_done_before_the_access_phase()
	local LIMITED = "((rate_limits,(limit,1,60,0)))"
	for _, case in ipairs({
		{ "((source_access,(allow,(v4,0a000000,0affffff))))", true }, { "((source_access,(deny,(v4,0a000000,0affffff))))", false },
		{ LIMITED, true }, { "((rewrite,(text,/b)))", true, "/b" }, { "((https_redirect,308))", true }, { "((basic_auth,(realm,x),(users,u)))", false },
		{ "((cors,(any_origin)))", true, "", true }, { "((timeouts,(read,1000)))", true, "", true }, { LIMITED, true, "", true, "proto http\nsticky c - -\ne a 1 10.0.0.1 80\n" },
	}) do
		require("standin").reset()
		local request = start(rows_of_rule(case[1], case[5]))
		ngx.var.binary_remote_addr, ngx.var.request_method, ngx.ctx = "\10\9\9\9", "GET", nil
		require("sluice.pools").get("p")
		local upstream = request.enter("http:l")
		assert((upstream ~= "later") == case[2], case[1])
		assert(not case[3] or upstream:gsub("^first$", ""):gsub("^%x_http", "") == case[3], upstream)
		assert((ngx.ctx ~= nil) == (case[4] or false), case[1])
	end
end

-- All that scripts keep of a request is there from the beginning, and so is taken away for the next one.
function tests.whatever_is_known_of_a_request_is_among_what_is_there_from_the_beginning()
	local new, count = require("sluice.asked").new("v", 80, "a", "a", "/x"), 0
	local list = assert(io.popen("grep -rhoE '^[^=]*[^=~<>]=( |$)' " .. arg[1] .. "/sluice"))
	for assignment in list:lines() do
		for name in assignment:gmatch("%f[%w_]asked%.([%w_]+)%f[ ,]") do
			count = count + 1
			assert(assignment:find("if ", 1, true) or new[name] ~= nil, name)
		end
	end
	list:close()
	assert(count > 30, count)
end

-- What was made for a request of which nothing is kept serves the next one.
function tests.nothing_of_a_request_is_left_for_the_next()
	local asked_of = require("sluice.asked")
	local new, used = asked_of.new("v", 80, "a", "a", "/x"), asked_of.new("w", 81, "b", "b", "/y", "/z")
	for key in pairs(used) do
		used[key] = "left"
	end
	assert(asked_of.new("v", 80, "a", "a", "/x", nil, used) == used)
	for key, value in pairs(new) do
		assert(used[key] == value, key)
		used[key] = nil
	end
	assert(next(used) == nil)
end

function tests.a_path_of_one_request_is_not_that_of_the_next()
	local request = start(rows_of_rule("((rewrite,(text,/b)))"))
	require("sluice.pools").get("p")
	assert(request.enter("http:l") == "0_http/b")
	ngx.shared.sluice:set("Wroute:r1", "(((path,/),(pool,p)))")
	ngx.shared.sluice:incr(VERSION, 2)
	assert(request.enter("http:l") == "first")
end

-- nginx answers; the head is made by the header filter that follows, and by no later one.
function tests.a_redirect_is_made_before_the_access_phase()
	local HTTPS = "((https_redirect,308),(hsts,(max_age,5)))"
	for _, case in ipairs({
		{ HTTPS, "moved" }, { "((https_redirect,308),(cors,(any_origin)))", "moved" }, { "((https_redirect,308),(body_max_bytes,5))", "later" },
		{ "((https_redirect,308),(error_pages,(pool,p),(statuses,404)))", "later" }, { "((https_redirect,308),(basic_auth,(realm,x),(users,u)))", "later" },
		{ "((https_redirect,308),(cors,(any_origin)))", "later", "OPTIONS" },
	}) do
		require("standin").reset()
		local request = start(rows_of_rule(case[1]))
		local answer = require("sluice.answer")
		ngx.var.request_method, ngx.status = case[3] or "GET", 200
		assert(request.enter("http:l") == case[2], case[1])
		assert(answer.fill_moved() == (case[2] == "moved") and not answer.fill_moved())
		assert(ngx.status == (case[2] == "moved" and 308 or 200) and ngx.header["Location"] == (case[2] == "moved" and "https://a/" or nil))
	end
end

function tests.a_request_is_in_its_bucket_once_and_a_refused_one_never()
	local request = start(rows_of_rule("((rate_limits,(status,429),(limit,1,60,1)))"))
	local entered = 0
	local limits = require("sluice.limits")
	local enter_bucket = limits.enter
	limits.enter = function(...)
		entered = entered + 1
		return enter_bucket(...)
	end
	ngx.var.binary_remote_addr, ngx.var.request_method = "\10\9\9\9", "GET"
	for i = 1, 3 do
		ngx.exit = function() error("answered") end
		ngx.status = nil
		assert(pcall(enter, request) == (i < 3) and entered == i)
		assert(ngx.status == (i == 3 and 429 or nil))
	end
end

-- Nothing is kept of it: its rule is found again.
function tests.who_is_asked_next_for_a_rule_is_of_the_same_pool()
	local request = start(rows_of_rule("((rewrite,(text,/b)))"))
	local peers = {}
	balancer.set_current_peer = function(ip)
		peers[#peers + 1] = ip
		return true
	end
	balancer.set_more_tries = function() end
	enter(request)
	request.balance()
	ngx.var.http_host, ngx.var.sluice_view, ngx.var.upstream_addr = "a", "http:l", peers[1] .. ":80"
	request.balance()
	assert(#peers == 2 and peers[1] ~= peers[2])
end

return tests
