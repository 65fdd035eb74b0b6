-- SPDX-License-Identifier: Apache-2.0
-- Where a rule or a policy sends the client instead of asking a backend.
local asked_of = require("sluice.asked")

local _M = {}

local sub = string.sub

-- `is_told`: somebody is believed about the scheme, and perhaps about the host.
local function https_location(asked, policy, is_told)
	local name = asked.name
	if is_told then
		name = select(2, asked_of.told_host(asked.header, name))
	end
	local port = policy.https_port and ":" .. policy.https_port or ""
	local target = asked_of.target(asked)
	if policy.https_without_slash and sub(target, -1) == "/" then
		target = sub(target, 1, -2)
	end
	return "https://" .. name .. port .. target
end

-- Status and location; nil: a policy does not want that this request comes by HTTPS, or it does.
function _M.to_https(asked, policy)
	if not policy.https_redirect then
		return nil
	end
	local told = asked_of.told_scheme()
	if told ~= "https" and (told or not asked.view.is_tls) then
		return policy.https_redirect, https_location(asked, policy, told ~= nil)
	end
end

-- Status and location of what a request is answered with whatever else there is to know of it; nil: somebody has to look.
function _M.at_once(asked)
	local rule, policy = asked.rule, asked.policy
	if policy and (policy.body_max_bytes or policy.error_pages or policy.needs_headers or (policy.cors and ngx.var.request_method == "OPTIONS")) then
		return nil
	elseif rule.location then
		return rule.status, rule.location(asked)
	elseif policy and not rule.text then
		return _M.to_https(asked, policy)
	end
end

return _M
