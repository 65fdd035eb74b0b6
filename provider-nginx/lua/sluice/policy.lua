-- SPDX-License-Identifier: Apache-2.0
-- Policies (PROTOCOL.md, section 5.3) as their rows have them (rule_text.c): parsed once in each worker, and kept until they change.
local errors = require("sluice.errors")
local external = require("sluice.external")
local kept = require("sluice.kept")
local headers = require("sluice.headers")
local mirrors = require("sluice.mirrors")
local networks = require("sluice.networks")
local pieces = require("sluice.pieces")
local rewrites = require("sluice.rewrites")
local tree = require("sluice.tree")
local ways = require("sluice.ways")

local _M = {}

local lower, find, sub = string.lower, string.find, string.sub

local function behind_word(list)
	return tree.by_word({ unpack(list, 2) })
end

local function first(words, word)
	return words[word] and words[word][2]
end

local function cors_of(list)
	local words = behind_word(list)
	local cors = {
		any_origin = words.any_origin ~= nil, credentials = words.credentials ~= nil, methods = first(words, "methods"), headers = first(words, "headers"),
		expose_headers = first(words, "expose_headers"), max_age = first(words, "max_age"), origins = {}, wildcards = {},
	}
	for i = 2, words.origins and #words.origins or 0 do
		local origin = words.origins[i]
		local star = find(origin, "*", 1, true)
		if star then
			cors.wildcards[#cors.wildcards + 1] = { before = lower(sub(origin, 1, star - 1)), behind = lower(sub(origin, star + 1)) }
		else
			cors.origins[lower(origin)] = true
		end
	end
	return cors
end

local function hsts_of(list)
	local words = behind_word(list)
	return "max-age=" .. words.max_age[2] .. (words.subdomains and "; includeSubDomains" or "") .. (words.preload and "; preload" or "")
end

local function limits_of(list)
	local words, limits = behind_word(list), {}
	limits.concurrent, limits.status = tonumber(first(words, "concurrent")), tonumber(first(words, "status"))
	limits.exempt = networks.new(words.exempt)
	for i = 2, #list do
		if list[i][1] == "limit" then
			limits[#limits + 1] = { requests = tonumber(list[i][2]), interval_s = tonumber(list[i][3]), burst = tonumber(list[i][4]) }
		end
	end
	return limits
end

local function access_of(list)
	local words = behind_word(list)
	return { deny = networks.new(words.deny), allow = networks.new(words.allow) }
end

local function auth_of(list)
	local words = behind_word(list)
	return { realm = first(words, "realm") or "", users = first(words, "users") }
end

local function changes_of(list)
	local changes = {}
	for i = 2, #list do
		local item = list[i]
		changes[i - 1] = { action = item[1], name = item[2], key = lower(item[2]), value = pieces.new(item[3], 1) }
	end
	return changes
end

-- Whether pieces of the answer's headers have to be read before those of the request are changed.
local function do_use_headers(list)
	for i = 2, list and #list or 0 do
		if pieces.use_headers(list[i][3], 1) then
			return true
		end
	end
	return false
end

local function seconds(words, word)
	local milliseconds = tonumber(first(words, word))
	return milliseconds and milliseconds / 1000
end

local function timeouts_of(list)
	local words = behind_word(list)
	return { connect = seconds(words, "connect"), send = seconds(words, "send"), read = seconds(words, "read") }
end

local function retries_of(list)
	local words = behind_word(list)
	local retries = {
		on_error = words.on_error ~= nil, on_timeout = words.on_timeout ~= nil, on_invalid = words.on_invalid ~= nil, unsafe = words.unsafe ~= nil,
		tries = tonumber(first(words, "tries")), timeout = seconds(words, "timeout"), statuses = tonumber(first(words, "statuses")),
	}
	retries.is_any = retries.on_error or retries.on_timeout or retries.on_invalid or (retries.statuses or 0) ~= 0
	return retries
end

local function buffering_of(list)
	local words = behind_word(list)
	return { request = words.request ~= nil, response = words.response ~= nil }
end

-- For what is parsed elsewhere.
local parts = { changes = changes_of, text = function(list) return list and pieces.new(list, 2) end }

local function external_of(list)
	return external.parse(behind_word(list), parts)
end

local function mirrors_of(list)
	local found = {}
	for i = 2, #list do
		found[i - 1] = mirrors.parse(tree.by_word(list[i]), parts)
	end
	return found
end

local makers = {
	cors = cors_of, hsts = hsts_of, rate_limits = limits_of, source_access = access_of, basic_auth = auth_of, request_headers = changes_of,
	response_headers = changes_of, timeouts = timeouts_of, retries = retries_of, buffering = buffering_of, location_changes = rewrites.parse,
	cookie_domains = rewrites.parse_domains, cookie_paths = rewrites.parse,
	external_auth = external_of, mirrors = mirrors_of, error_pages = function(list) return errors.parse(behind_word(list), parts) end,
	fallback_headers = changes_of, fallback_pool = function(list) return list[2] end,
	backend_http = function(list)
		local http = behind_word(list)
		return { is_old = http.old ~= nil, connection = first(http, "connection") }
	end,
	bandwidth = function(list) return { rate = list[2], after = list[3] } end,
	rewrite = function(list) return pieces.new(list, 2) end,
	body_max_bytes = function(list) return tonumber(list[2]) end,
	https_redirect = function(list) return tonumber(list[2]) end,
	https_port = function(list) return list[2] end,
	https_without_slash = function() return true end,
	satisfy_any = function() return true end,
}

local function do_change_location(changes)
	for i = 1, changes and #changes or 0 do
		if headers.is_of_location(changes[i].key) then
			return true
		end
	end
	return false
end

-- Whether a backend over HTTP can be asked from where requests enter: nothing has to be known when the request has ended, and no location has directives for it.
local function may_stay(policy)
	local counts = policy.rate_limits and policy.rate_limits.concurrent
	local is_elsewhere = policy.way or policy.error_pages or policy.fallback_pool or policy.mirrors or (policy.backend_http and policy.backend_http.connection)
	return not (counts or is_elsewhere or do_change_location(policy.request_headers) or do_change_location(policy.external_auth and policy.external_auth.copied))
end

-- Whether nothing of the policy has to be known once the backend is asked, and nothing of the request is changed that conditions of rules look at.
local function is_done_at_once(policy)
	local answers = policy.cors or policy.hsts or policy.response_headers or policy.changes_backend or policy.bandwidth
	return policy.may_stay and not (answers or policy.request_headers or policy.basic_auth or policy.external_auth or policy.timeouts or policy.retries or policy.fallback_headers)
end

local function parse(text, name)
	local list = tree.parse(text)
	if not list then
		return nil
	end
	local words, policy = tree.by_word(list), { name = name }
	for word, make in pairs(makers) do
		policy[word] = words[word] and make(words[word])
	end
	policy.way = ways.new(policy.retries, policy.buffering, policy.bandwidth, policy.backend_http and policy.backend_http.is_old)
	policy.changes_backend = policy.location_changes or policy.cookie_domains or policy.cookie_paths
	if policy.external_auth then
		policy.external_auth.digest = ngx.md5_bin(text)
	end
	-- Whoever answers in place of an error gets the body, too.
	if policy.error_pages then
		policy.buffering = { request = true, response = policy.buffering and policy.buffering.response or false }
	end
	policy.may_stay = may_stay(policy)
	policy.is_done_at_once = is_done_at_once(policy)
	policy.needs_headers = policy.error_pages ~= nil or policy.mirrors ~= nil or do_use_headers(words.response_headers)
	return policy
end

-- The policy of that name, or nil.
_M.get = kept.new("Wpolicy:", parse)

return _M
