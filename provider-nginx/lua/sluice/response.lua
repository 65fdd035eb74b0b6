-- SPDX-License-Identifier: Apache-2.0
-- The head of an answer, before it goes to the client.
local access_log = require("sluice.access_log")
local answer = require("sluice.answer")
local errors = require("sluice.errors")
local rewrites = require("sluice.rewrites")
local sticky = require("sluice.sticky")
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request
require("resty.core.ctx") -- declares what is used here

local _M = {}

local in_ssl_phase, ssl_ctx_ref = ffi.new("int[1]"), ffi.new("int[1]")

-- Whether there is a ngx.ctx: to ask for it makes one.
local function has_context()
	return ffi.C.ngx_http_lua_ffi_get_ctx_ref(get_request(), in_ssl_phase, ssl_ctx_ref) >= 0
end

-- nginx takes the first head that a backend sends for the last one, also an interim one such as 103: what follows it would be
-- its body. A client that believed it would wait for an answer that has been there, or take that body for the answer to its next
-- request. Only behind a 101 that was asked for there is no next one.
local function refuse_interim()
	local status = ngx.status
	if status < 200 and (status ~= 101 or (ngx.var.sluice_upgrade or "") == "") then
		ngx.log(ngx.ERR, "sluice: endpoint ", ngx.var.upstream_addr, " sent the interim status ", status, ", behind which nginx finds no answer")
		if access_log.is_on then
			access_log.refused("backend-failed")
		end
		ngx.exit(502)
		return true
	end
	return false
end

-- Only here: a backend could have said something else in X-Accel-Limit-Rate.
local function limit_bandwidth(bandwidth)
	ngx.var.limit_rate, ngx.var.sluice_rate_after = bandwidth.rate, bandwidth.after
end

-- What there is of cookies of ours, and of policies.
local function change(ctx)
	local asked = ctx.asked
	local policy = asked and asked.policy
	if ctx.refused then
		ngx.status = ctx.refused
	end
	if policy and policy.error_pages and not ctx.has_failed and errors.is_replaced(asked, ngx.status, true) and errors.is_of_backend() then
		errors.keep_challenge(asked, ngx.header["WWW-Authenticate"])
		asked.session_cookie = sticky.new_cookie(ctx)
		ctx.error_status = ngx.status
		return ngx.exit(errors.STATUS)
	end
	if policy and policy.changes_backend and not asked.is_error then
		rewrites.change(policy)
	end
	if not (asked and (asked.is_question or asked.is_error)) then
		sticky.write(ctx)
	end
	if policy and not asked.is_answered then
		answer.add_headers(asked)
		if policy.bandwidth then
			limit_bandwidth(policy.bandwidth)
		end
	end
end

-- Header filter of all answers where requests enter.
function _M.filter()
	if answer.fill_moved() then
		return
	end
	if not refuse_interim() and has_context() then
		change(ngx.ctx)
	end
end

-- Of those in the locations of protocols.
function _M.filter_sticky()
	if not refuse_interim() then
		change(ngx.ctx)
	end
end

return _M
