-- SPDX-License-Identifier: Apache-2.0
-- Where a rule or a policy sends the client instead of asking a backend.
local asked_of = require("sluice.asked")

local _M = {}

local sub = string.sub

local function https_location(asked, policy)
	local _, name = asked_of.told_host(asked.header, asked.name)
	local port = policy.https_port and ":" .. policy.https_port or ""
	local target = asked_of.target(asked)
	if policy.https_without_slash and sub(target, -1) == "/" then
		target = sub(target, 1, -2)
	end
	return "https://" .. name .. port .. target
end

-- Status and location; nil: a policy does not want that this request comes by HTTPS, or it does.
function _M.to_https(asked, policy)
	if policy.https_redirect and asked_of.scheme(asked) ~= "https" then
		return policy.https_redirect, https_location(asked, policy)
	end
end

-- Status and location of what a request is answered with whatever else there is to know of it; nil: somebody has to look. `is_preflight`: of CORS perhaps.
function _M.at_once(asked, is_preflight)
	local rule, policy = asked.rule, asked.policy
	if policy and (policy.body_max_bytes or policy.error_pages or policy.needs_headers or (policy.cors and is_preflight)) then
		return nil
	elseif rule.location then
		return rule.status, rule.location(asked)
	elseif policy and not rule.text then
		return _M.to_https(asked, policy)
	end
end

return _M
