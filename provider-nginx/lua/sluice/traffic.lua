-- SPDX-License-Identifier: Apache-2.0
-- What is done with a request whose path leads to a route: the steps of PROTOCOL.md, section 5.3, in their order. Each answers the request, and then
-- does not return, or lets it go on.
local access_log = require("sluice.access_log")
local answer = require("sluice.answer")
local asked_of = require("sluice.asked")
local bodies = require("sluice.bodies")
local clients = require("sluice.clients")
local decode = require("sluice.decode")
local errors = require("sluice.errors")
local external = require("sluice.external")
local headers = require("sluice.headers")
local limits = require("sluice.limits")
local mirrors = require("sluice.mirrors")
local networks = require("sluice.networks")
local passwords = require("sluice.passwords")
local pieces = require("sluice.pieces")
local policy_of = require("sluice.policy").get
local pools = require("sluice.pools")
local question = require("sluice.question")
local redirects = require("sluice.redirects")
local rules = require("sluice.rules")
local ways = require("sluice.ways")
local balancer = require("ngx.balancer")

local _M = {}

local lower = string.lower

local REMOVED = "(removed)" -- in place of the value of a header that we set ourselves: nginx.conf.tmpl
local DEFAULT_CONNECT_S = 5
local HEADERS_MAX = 256
local LOOKUPS_MAX = 3
local LONG_S = 3600 -- how long an upgraded connection may be silent

local function challenge_of(more)
	for i = 1, more and #more or 0, 2 do
		if lower(more[i]) == "www-authenticate" then
			return more[i + 1]
		end
	end
end

-- Answers by itself, or lets the pool do that answers in place of the error. `why`: as in doc/access-logs.md.
local function finish(asked, status, text, more, why)
	if access_log.is_on then
		access_log.refused(why)
	end
	if errors.is_replaced(asked, status) then
		errors.keep_challenge(asked, challenge_of(more))
		asked.on_error(asked, status)
	end
	return answer.finish(asked, status, text, more)
end

-- ---- 1: the rule ----

-- The policy, its users, and whether these are all that it takes.
local function look_up(name, is_settled)
	local policy = policy_of(name, is_settled)
	local auth = policy and policy.basic_auth
	local users = auth and passwords.users(auth.users)
	return policy, users, users ~= nil or not auth
end

-- The policy of that name, and the users whom it lets in. When those have gone since the policy was read, it lets others in by now.
local function find_policy(name, is_settled)
	local policy, users, is_whole = look_up(name, is_settled)
	local lookups = 1
	while not is_whole and lookups < LOOKUPS_MAX do
		policy, users, is_whole = look_up(name)
		lookups = lookups + 1
	end
	return policy, users
end

-- Finds the rule and the policy. False: the row of the route has gone. Otherwise true, and the pool, if it is there, and whether the default pool is to be taken.
function _M.find(asked, name)
	local list = rules.get(name, asked.is_settled)
	if not list then
		return false
	end
	local rule = rules.choose(list, asked)
	asked.rule = rule
	if rule == rules.LIMIT then
		return true
	end
	if rule and rule.policy then
		asked.policy, asked.users = find_policy(rule.policy, asked.is_settled)
	end
	local pool_name = rule and rules.draw(rule, asked)
	local pool = pool_name and pools.get(pool_name, asked.is_settled)
	-- When it has gone since the route was read, the route is another one by now.
	return pool ~= nil or pool_name == nil, pool
end

-- ---- 2 to 6 ----

local function check_client(asked, rule)
	local status, text, more, page = clients.refusal(asked, rule.client)
	if page then
		return asked.on_page(asked, page)
	elseif status then
		-- Nothing of the policy has to do with it.
		asked.policy = false
		return finish(asked, status, text, more, "client-tls")
	end
end

local function is_closed(asked, rule, policy)
	if rule.is_closed or (rule.policy and not policy) then
		return true
	end
	return policy and policy.basic_auth and not asked.users
end

local function limit_length(asked, policy)
	local max = policy.body_max_bytes
	local length = max and tonumber(ngx.var.http_content_length)
	if length and length > max then
		return finish(asked, 413, "the body is too large\n", nil, "body-limit")
	end
end

local function answer_preflight(asked, policy)
	if policy.cors and ngx.var.request_method == "OPTIONS" and answer.allowed_origin(asked, policy.cors) then
		return finish(asked, 204, "", nil, "preflight")
	end
end

local function answer_rule(asked, rule)
	if rule.location then
		return finish(asked, rule.status, "", { "Location", rule.location(asked) }, "redirect")
	elseif rule.text then
		return finish(asked, rule.status, rule.text, nil, "answer")
	end
end

local function redirect_to_https(asked, policy)
	local status, location = redirects.to_https(asked, policy)
	if status then
		return finish(asked, status, "", { "Location", location }, "redirect")
	end
end

-- ---- 9 to 12: guards ----

local function refuse(asked, status, text, more, why)
	if not errors.instead_of(asked, status) then
		_M.release(asked)
	end
	return finish(asked, status, text, more, why)
end

local function limit_rate(asked, policy, address)
	local wanted = policy.rate_limits
	if not wanted or (wanted.exempt and networks.have(wanted.exempt, address)) then
		return
	end
	local is_allowed, held = false, nil
	if not asked.is_too_fast then
		is_allowed, held = limits.enter(policy.name, wanted, address)
	end
	asked.held = held
	if not is_allowed then
		return finish(asked, wanted.status, "too many requests\n", nil, "rate-limit")
	end
end

local function fits_access(access, address)
	if access.deny and networks.have(access.deny, address) then
		return false
	end
	return not access.allow or networks.have(access.allow, address)
end

-- Whether the pair is good; if not, how the client is refused.
local function check_password(asked, policy)
	local outcome = passwords.are_good(policy.basic_auth.users, asked.users, asked_of.header(asked, "authorization"))
	if outcome == passwords.BUSY then
		return false, { 503, "too many passwords are being checked\n", nil, "busy" }
	elseif not outcome then
		return false, { 401, "unauthorized\n", { "WWW-Authenticate", 'Basic realm="' .. policy.basic_auth.realm .. '"' }, "basic-auth" }
	end
	asked.has_password = true
	return true
end

-- Likewise.
local function ask_other(asked, policy)
	local given = external.answer(asked, policy)
	local status = given and given.status or 500
	if status >= 200 and status < 300 then
		return true
	end
	local sign_in = policy.external_auth.sign_in
	if status == 401 then
		local more = given.challenges[1] and { "WWW-Authenticate", given.challenges } or {}
		if sign_in then
			more[#more + 1], more[#more + 2] = "Location", sign_in(asked)
		end
		return false, { sign_in and 302 or 401, sign_in and "" or "unauthorized\n", more, "external-auth" }
	elseif status == 403 then
		return false, { 403, "forbidden\n", nil, "external-auth" }
	end
	return false, { 500, "nobody can tell whether this may pass\n", nil, "external-auth" }
end

local NOT_FROM_THERE = { 403, "forbidden\n", nil, "source-access" }

local function check_access(_, _, fits)
	return fits, NOT_FROM_THERE
end

-- They are put together once, for all requests.
local function checks_of(policy)
	local checks = policy.checks
	if checks then
		return checks
	end
	checks = {}
	checks[#checks + 1] = policy.source_access and check_access or nil
	checks[#checks + 1] = policy.basic_auth and check_password or nil
	checks[#checks + 1] = policy.external_auth and ask_other or nil
	policy.checks = checks
	return checks
end

local function guard(asked, policy)
	local access = policy.source_access
	if not access and not policy.basic_auth and not policy.rate_limits and not policy.external_auth then
		return
	end
	local address = networks.address(ngx.var.binary_remote_addr)
	limit_rate(asked, policy, address)
	local fits = access and fits_access(access, address)
	local checks = checks_of(policy)
	local refusal
	for i = 1, #checks do
		local is_good, reason = checks[i](asked, policy, fits)
		if is_good and policy.satisfy_any then
			return
		elseif not is_good then
			refusal = checks[i] ~= check_access and refusal and refusal[1] == 401 and refusal or reason
			if not policy.satisfy_any then
				break
			end
		end
	end
	if refusal then
		return refuse(asked, unpack(refusal, 1, 4))
	end
end

-- Where a request cannot be answered: whether the networks and the rate let it pass. It is in their buckets then.
local function passes(asked, policy)
	local access, limits_wanted = policy.source_access, policy.rate_limits
	if not access and not limits_wanted then
		return true
	end
	local address = networks.address(ngx.var.binary_remote_addr)
	-- Whoever is going to be refused is counted by guard().
	if access and not fits_access(access, address) then
		return false
	end
	if limits_wanted and not (limits_wanted.exempt and networks.have(limits_wanted.exempt, address)) then
		asked.is_too_fast = not limits.enter(policy.name, limits_wanted, address)
	end
	return not asked.is_too_fast
end

-- ---- 13 and 14: the request as the backend gets it ----

-- Headers that nginx.conf.tmpl sets, by the variable that has another value, and what they are without it.
local own = {
	["host"] = { "sluice_set_host", function(asked) return (asked_of.told_host(asked.header)) end },
	["x-forwarded-for"] = { "sluice_set_for", function() return asked_of.forwarded_for(ngx.var) end },
	["x-forwarded-proto"] = { "sluice_set_proto", asked_of.scheme },
	["x-forwarded-host"] = { "sluice_set_forwarded_host", function(asked) return (asked_of.told_host(asked.header)) end },
	["x-forwarded-port"] = { "sluice_set_port", asked_of.told_port },
	["x-real-ip"] = { "sluice_set_real_ip", function() return ngx.var.remote_addr end },
	["forwarded"] = { "sluice_set_forwarded", function() return ngx.var.sluice_forwarded end },
}

local function change_own(asked, change, value)
	local variable, present = unpack(own[change.key])
	local before = ngx.var[variable] or ""
	if change.key == "host" then
		-- There is one, and no more than one.
		if change.action == "set" and value ~= "" then
			ngx.var[variable] = value
		end
	elseif change.action == "remove" or (change.action == "set" and value == "") then
		ngx.var[variable] = REMOVED
	elseif change.action == "set" or before == REMOVED then
		ngx.var[variable] = value
	else
		ngx.var[variable] = (before ~= "" and before or present(asked)) .. ", " .. value
	end
end

local function add_header(name, value)
	local values = ngx.req.get_headers()[name]
	if values == nil then
		values = value
	elseif type(values) == "table" then
		values[#values + 1] = value
	else
		values = { values, value }
	end
	ngx.req.set_header(name, values)
end

-- nginx takes a header without a value away; a blank is none of a value.
local function or_blank(value)
	return value ~= "" and value or " "
end

function _M.change_request(asked, changes)
	local values = {}
	for i = 1, #changes do
		values[i] = changes[i].value(asked)
	end
	for i = 1, #changes do
		local change = changes[i]
		if own[change.key] then
			change_own(asked, change, values[i])
		elseif change.action == "remove" then
			ngx.req.clear_header(change.name)
		elseif change.action == "set" then
			ngx.req.set_header(change.name, or_blank(values[i]))
		else
			add_header(change.name, or_blank(values[i]))
		end
	end
end

-- The path for a backend over HTTP/2: nginx takes no target for it, but spells a path itself.
function _M.set_path(path)
	ngx.req.set_uri(decode.plain(path), false, true)
end

-- Those that the backend gets, but for Host.
local function copied_headers(asked)
	local list = question.headers_of(ngx.req.get_headers(HEADERS_MAX), headers.is_own)
	for name, each in pairs(own) do
		local value = ngx.var[each[1]] or ""
		if name ~= "host" and value ~= REMOVED then
			list[#list + 1] = { name, value ~= "" and value or each[2](asked) }
		end
	end
	return list
end

local function prepare_request(asked, policy, pool)
	local path = policy.rewrite and not asked.is_fallback and pieces.to_path(policy.rewrite(asked, true))
	-- Values of headers are those that were sent: they are read before the first of several lists of changes.
	if asked.has_password or policy.external_auth or asked.is_fallback then
		asked_of.headers(asked)
	end
	if asked.has_password then
		ngx.req.clear_header("Authorization")
	end
	if policy.external_auth then
		_M.change_request(asked, external.changes(asked, policy.external_auth))
	end
	if policy.request_headers then
		_M.change_request(asked, policy.request_headers)
	end
	if policy.fallback_headers and asked.is_fallback then
		asked.error_status = 503 -- in whose place it answers
		_M.change_request(asked, policy.fallback_headers)
		asked.error_status = false
	end
	-- An upgrade is not seen then.
	if policy.backend_http and policy.backend_http.connection then
		ngx.var.sluice_connection = policy.backend_http.connection
	end
	if path and (pool.proto == "h2c" or pool.proto == "h2") then
		_M.set_path(path)
	elseif path and asked.stays then
		asked.backend_target = path .. asked_of.arguments(asked)
	elseif path then
		ngx.var.sluice_target = path .. asked_of.arguments(asked)
	end
	if policy.mirrors then
		mirrors.send(asked, policy.mirrors, copied_headers, (path or asked.path) .. asked_of.arguments(asked))
	end
end

-- ---- public functions ----

-- Everything up to the backend, once find() has been there. `pool` has an endpoint and can be spoken to, or is nil. `on_ready` is called with the request
-- before headers are changed. No function is made on the way of a request: LuaJIT would not compile whatever makes one.
function _M.go(asked, pool, on_ready)
	local rule = asked.rule
	if rule == rules.LIMIT then
		return finish(asked, 500, "the path takes too long to compare\n", nil, "too-complex")
	end
	if rule.client then
		check_client(asked, rule)
	end
	if is_closed(asked, rule, asked.policy) then
		return finish(asked, 503, "closed\n", nil, "closed")
	end
	local policy = asked.policy
	asked.has_begun = true
	if policy and policy.needs_headers then
		asked_of.headers(asked)
	end
	if policy then
		limit_length(asked, policy)
		answer_preflight(asked, policy)
	end
	answer_rule(asked, rule)
	if policy then
		redirect_to_https(asked, policy)
	end
	if not pool then
		return finish(asked, 503, "no endpoints\n", nil, "no-endpoints")
	end
	if policy then
		guard(asked, policy)
	end
	on_ready(asked)
	if rule.client then
		clients.set_headers(asked, rule.client)
	end
	if policy then
		prepare_request(asked, policy, pool)
	end
end

-- Status and location of the redirect with which the request is answered, without a body and whoever has sent it, once find() has been there; nil: go() has to tell.
function _M.redirect_of(asked)
	local rule = asked.rule
	if not rule or rule == rules.LIMIT or rule.client or is_closed(asked, rule, asked.policy) then
		return nil
	end
	return redirects.at_once(asked)
end

-- Does the same where a request can neither be answered nor wait, once find() has been there; false: go() has to do it. No request is
-- in a bucket twice.
function _M.pass(asked, pool)
	local rule, policy = asked.rule, asked.policy
	if not rule then
		return true
	end
	if rule.client or rule.location or rule.text or is_closed(asked, rule, policy) then
		return false
	end
	if not policy then
		return true
	end
	if policy.basic_auth or policy.external_auth or policy.body_max_bytes or (policy.cors and ngx.var.request_method == "OPTIONS") then
		return false
	end
	if (policy.https_redirect and asked_of.scheme(asked) ~= "https") or not passes(asked, policy) then
		return false
	end
	asked.has_begun = true
	if policy.needs_headers then
		asked_of.headers(asked)
	end
	prepare_request(asked, policy, pool)
	return true
end

-- Of a request that has been served, or is not going to be.
function _M.release(asked)
	ways.release(asked)
	bodies.release(asked)
	if asked.held then
		limits.release(asked.held)
		asked.held = false
	end
end

-- In the balancer; `is_long`: the connection is upgraded.
function _M.set_timeouts(asked, is_long)
	local timeouts = asked and asked.policy and asked.policy.timeouts
	if timeouts then
		local long = is_long and LONG_S or nil
		balancer.set_timeouts(timeouts.connect or (is_long and DEFAULT_CONNECT_S or nil), timeouts.send or long, timeouts.read or long)
	elseif is_long then
		balancer.set_timeouts(DEFAULT_CONNECT_S, LONG_S, LONG_S)
	end
end

return _M
