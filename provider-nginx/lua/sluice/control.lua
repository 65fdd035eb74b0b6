-- SPDX-License-Identifier: Apache-2.0
-- The control server, on a Unix socket that only the provider can reach.
--
--   GET  /v1/state   serial of the state, generation of the configuration, pid of the master, room in the dictionary, pools
--                   by which namespaces are named whose health checks come late
--   GET  /v1/traffic what is being served, and endpoints that do not answer (traffic_counts.lua)
--   POST /v1/batch   one batch (store.lua); 200, 400 malformed, 409 other base, 507 no room
--
-- Every other answer is one line of `name=value` words.
local store = require("sluice.store")
local late = require("sluice.late")
local process = require("ngx.process")

local _M = {}

local function answer(status, problem)
	local free, capacity = store.room()
	ngx.status = status
	local late_pools = late.pools()
	ngx.header["Content-Type"] = "text/plain"
	ngx.say("version=1 serial=", store.serial(), " generation=", ngx.var.sluice_generation, " master=",
		process.get_master_pid() or 0, " free=", free, " capacity=", capacity, late_pools ~= "" and " late=" or "", late_pools, problem and " problem=" or "",
		problem and problem:gsub("%s", "-") or "")
	return ngx.exit(200)
end

function _M.state()
	return answer(200)
end

function _M.batch()
	if ngx.req.get_method() ~= "POST" then
		return answer(405, "not a POST")
	end
	ngx.req.read_body()
	local text = ngx.req.get_body_data()
	if not text then
		return answer(400, "no batch")
	end
	local status, problem = store.apply(text)
	return answer(status or 200, problem)
end

return _M
