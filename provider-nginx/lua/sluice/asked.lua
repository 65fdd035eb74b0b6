-- SPDX-License-Identifier: Apache-2.0
-- What conditions and pieces (PROTOCOL.md) take from a request: it is read once, and as it was sent, whatever is changed of it later.
local decode = require("sluice.decode")

local _M = {}

local find, sub, gsub, match, gmatch, byte, lower = string.find, string.sub, string.gsub, string.match, string.gmatch, string.byte, string.lower
local concat = table.concat
local HEADERS_MAX = 256
local NO_GROUPS = {}

-- With room for all that is ever known of a request, so that the table need not grow. begin() has the same names: what it forgot would be known of the next request.
local function blank()
	return {
		view = false, port = 0, header = "", name = "", path = "", key = "", matched = "", is_decoded = false, groups = NO_GROUPS, rest = "",
		headers = false, cookies = false, queries = false, arguments = false, escaped = false, search_work = 0, search_began = false, origin = false,
		rule = false, policy = false, users = false, pool = false, location = false, bound = false, chosen = false, kept_pool = false, backend_target = false,
		on_error = false, on_page = false, is_settled = false, has_claims = false, has_no_route = false, stays = false, is_ready = false, is_done = false,
		has_begun = false, is_question = false, is_page = false, is_error = false, is_fallback = false, is_answered = false, error_status = false,
		has_password = false, copied = false, new_cookies = false, cookies_always = false, challenge = false, session_cookie = false, is_too_fast = false,
		held = false, has_way = false, is_buffered = false, body_room = false, body_kept = false, is_unbounded = false, counts_unbounded = false,
	}
end

local function begin(asked)
	asked.groups, asked.rest = NO_GROUPS, ""
	asked.headers, asked.cookies, asked.queries, asked.arguments, asked.escaped = false, false, false, false, false
	asked.search_work, asked.search_began, asked.origin = 0, false, false
	asked.rule, asked.policy, asked.users, asked.pool, asked.location, asked.bound, asked.chosen = false, false, false, false, false, false, false
	asked.kept_pool, asked.backend_target, asked.on_error, asked.on_page = false, false, false, false
	asked.is_settled, asked.has_claims, asked.has_no_route, asked.stays, asked.is_ready, asked.is_done = false, false, false, false, false, false
	asked.has_begun, asked.is_question, asked.is_page, asked.is_error, asked.is_fallback, asked.is_answered = false, false, false, false, false, false
	asked.error_status, asked.has_password, asked.copied, asked.new_cookies, asked.cookies_always = false, false, false, false, false
	asked.challenge, asked.session_cookie, asked.is_too_fast, asked.held, asked.has_way, asked.is_buffered = false, false, false, false, false, false
	asked.body_room, asked.body_kept, asked.is_unbounded, asked.counts_unbounded = false, false, false, false
	return asked
end

-- `path` is as it was sent; `key`, which may be nil, as it was looked up if it was decoded (routes.h). Rules are compared with `matched`, of which `rest` and
-- `groups` are parts. `spare` is what was made for another request, of which nobody knows any more, or nil.
function _M.new(view, port, header, name, path, key, spare)
	local asked = spare and begin(spare) or blank()
	asked.view, asked.port, asked.header, asked.name, asked.path = view, port, header, name, path
	asked.key, asked.matched, asked.is_decoded = key or path, key and decode.plain(key) or path, key ~= nil
	return asked
end

-- All headers, by name in lower case; texts, or tables of several.
function _M.headers(asked)
	local headers = asked.headers
	if not headers then
		headers = ngx.req.get_headers(HEADERS_MAX)
		setmetatable(headers, nil)
		asked.headers = headers
	end
	return headers
end

-- The value of the header, nil without one; of several lines of it their values, joined.
function _M.header(asked, name)
	if name == "host" then
		return asked.header ~= "" and asked.header or nil
	end
	local value = _M.headers(asked)[name]
	return type(value) == "table" and concat(value, ", ") or value
end

local function is_blank(c)
	return c == 32 or c == 9
end

-- That of the Origin header, which is known of most requests; empty or nil without one.
function _M.origin(asked)
	return asked.origin or _M.header(asked, "origin")
end

-- Without the blanks at its ends. As a loop: a pattern would begin anew at each blank.
function _M.trim(text)
	local first, last = 1, #text
	while first <= last and is_blank(byte(text, first)) do
		first = first + 1
	end
	while last >= first and is_blank(byte(text, last)) do
		last = last - 1
	end
	return sub(text, first, last)
end

-- Those of a line, the first of each name, into `found`.
local function read_cookies(line, found)
	for each in gmatch(line, "[^;]+") do
		local pair = _M.trim(each)
		local equals = find(pair, "=", 1, true)
		local name = equals and sub(pair, 1, equals - 1)
		if name and not found[name] then
			found[name] = sub(pair, equals + 1)
		end
	end
	return found
end

local function cookies_of(asked)
	local lines = _M.headers(asked).cookie
	if type(lines) ~= "table" then
		return read_cookies(lines or "", {})
	end
	local found = {}
	for _, line in ipairs(lines) do
		read_cookies(line, found)
	end
	return found
end

-- A thousand conditions and pieces may ask for one.
function _M.cookie(asked, name)
	asked.cookies = asked.cookies or cookies_of(asked)
	return asked.cookies[name]
end

-- The question mark and what follows it in the target, which may be nothing.
function _M.arguments(asked)
	local arguments = asked.arguments
	if not arguments then
		local target = ngx.var.request_uri
		local at = find(target, "?", 1, true)
		arguments = at and sub(target, at) or ""
		asked.arguments = arguments
	end
	return arguments
end

local function queries_of(asked)
	local found = {}
	for pair in gmatch(sub(_M.arguments(asked), 2), "[^&]+") do
		local equals = find(pair, "=", 1, true)
		local name = decode.argument(equals and sub(pair, 1, equals - 1) or pair)
		if not found[name] then
			found[name] = equals and sub(pair, equals + 1) or ""
		end
	end
	return found
end

-- The first of that name, as it was sent.
function _M.argument(asked, name)
	asked.queries = asked.queries or queries_of(asked)
	return asked.queries[name]
end

function _M.target(asked)
	return asked.path .. _M.arguments(asked)
end

-- The scheme of the request as who is believed about it says; nil: nobody is, and none about the host. nginx.conf.tmpl sets these only where somebody is.
function _M.told_scheme()
	local told = ngx.var.sluice_told_scheme
	return told and told ~= "" and told or nil
end

-- The scheme of the request and its port, told or not.
function _M.scheme(asked)
	return _M.told_scheme() or (asked.view.is_tls and "https" or "http")
end

function _M.port(asked)
	local told = ngx.var.sluice_told_port
	return told and told ~= "" and told or tostring(asked.port)
end

-- Likewise, as backends are told it.
function _M.told_port(asked)
	local said = ngx.var.sluice_said_port
	return said and said ~= "" and said or tostring(asked.port)
end

-- The host that backends are told, by who is believed about it or by the Host header, and its name as routes have names.
function _M.told_host(header, name)
	local told = ngx.var.sluice_told_host
	if not told or told == "" then
		return header, name
	end
	local told_name = match(told, "^%[[^%]]*%]") or match(told, "^[^:]*")
	return told, lower((gsub(told_name, "%.$", "")))
end

-- What X-Forwarded-For is unless a policy says something else.
function _M.forwarded_for(var)
	local told = var.sluice_told_for
	return told and told ~= "" and told or var.remote_addr
end

return _M
