-- SPDX-License-Identifier: Apache-2.0
-- The last step of section 5.3 of PROTOCOL.md, of all answers to requests with a policy, whoever has made them; and answers of our own.
local asked_of = require("sluice.asked")
local errors = require("sluice.errors")
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request

local _M = {}

local cast, uintptr = ffi.cast, ffi.typeof("uintptr_t")
local find, lower, sub = string.find, string.lower, string.sub

-- One label in place of the asterisk.
local function fits_wildcard(wildcard, origin)
	local before, behind = wildcard.before, wildcard.behind
	local room = #origin - #before - #behind
	return room > 0 and sub(origin, 1, #before) == before and sub(origin, -#behind) == behind and
		not find(sub(origin, #before + 1, #before + room), "[^%w_-]")
end

-- The origin of the request, which `cors` allows; nil: it does not. Empty: any, and the request has none.
function _M.allowed_origin(asked, cors)
	local origin = asked_of.origin(asked)
	if cors.any_origin then
		return origin or ""
	end
	local plain = origin and lower(origin)
	if not plain or cors.origins[plain] then
		return plain and origin
	end
	for _, wildcard in ipairs(cors.wildcards) do
		if fits_wildcard(wildcard, plain) then
			return origin
		end
	end
end

local function add(name, value)
	local values = ngx.header[name]
	if values == nil then
		ngx.header[name] = value
	elseif type(values) == "table" then
		values[#values + 1] = value
		ngx.header[name] = values
	else
		ngx.header[name] = { values, value }
	end
end

-- `values`: one, several, or nil.
local function add_all(name, values)
	if type(values) ~= "table" then
		values = { values or nil }
	end
	for _, value in ipairs(values) do
		add(name, value)
	end
end

-- nginx takes a header without a value away; a blank is none of a value.
local function value_of(change, asked)
	local value = change.value(asked)
	return value ~= "" and value or " "
end

local function change_headers(asked, changes)
	for _, change in ipairs(changes) do
		if change.action == "remove" then
			ngx.header[change.name] = nil
		elseif change.action == "set" then
			ngx.header[change.name] = value_of(change, asked)
		else
			add(change.name, value_of(change, asked))
		end
	end
end

local function add_cors(asked, cors)
	local origin = _M.allowed_origin(asked, cors)
	if not origin then
		return
	end
	local header = ngx.header
	header["Access-Control-Allow-Origin"] = cors.any_origin and "*" or origin
	if not cors.any_origin then
		add("Vary", "Origin")
	end
	if cors.credentials then
		header["Access-Control-Allow-Credentials"] = "true"
	end
	if cors.methods then
		header["Access-Control-Allow-Methods"] = cors.methods
	end
	if cors.headers then
		header["Access-Control-Allow-Headers"] = cors.headers
	end
	if cors.expose_headers then
		header["Access-Control-Expose-Headers"] = cors.expose_headers
	end
	if cors.max_age then
		header["Access-Control-Max-Age"] = cors.max_age
	end
end

-- Statuses with which cookies of whoever let the request in go to the client.
local GOOD = { [200] = true, [201] = true, [204] = true, [206] = true, [301] = true, [302] = true, [303] = true, [304] = true, [307] = true, [308] = true }

-- In the header filter, or before an answer of ours.
function _M.add_headers(asked)
	local policy = asked.policy
	if not policy then
		return
	end
	if errors.is_bare(asked) then
		add_all("Set-Cookie", asked.session_cookie)
		return add_all("WWW-Authenticate", asked.challenge)
	end
	if asked.new_cookies and (asked.cookies_always or GOOD[ngx.status]) then
		for _, cookie in ipairs(asked.new_cookies) do
			add("Set-Cookie", cookie)
		end
	end
	if policy.response_headers then
		change_headers(asked, policy.response_headers)
	end
	if policy.hsts and asked.view.is_tls then
		ngx.header["Strict-Transport-Security"] = policy.hsts
	end
	if policy.cors then
		add_cors(asked, policy.cors)
	end
end

-- What nginx answers by itself with nothing (nginx.conf.tmpl) where no Lua can answer: the header filter follows at once.
local moved_for, moved_asked, moved_status, moved_to = 0, nil, nil, nil

local function request_id()
	return tonumber(cast(uintptr, get_request()))
end

-- Before the access phase: the request, as it is answered then.
function _M.move(asked, status, location)
	moved_for, moved_asked, moved_status, moved_to = request_id(), asked, status, location
end

-- In the header filter: whether it was of such a request.
function _M.fill_moved()
	if moved_for == 0 then
		return false
	end
	local is_it, asked = moved_for == request_id(), moved_asked
	moved_for, moved_asked = 0, nil
	if not is_it then
		return false
	end
	ngx.status = moved_status
	ngx.header["Content-Type"] = nil
	ngx.header["Location"] = moved_to
	_M.add_headers(asked)
	return true
end

-- Answers the request; `headers` are the names and values of those that belong to it, in turn; nil without any. Does not return.
function _M.finish(asked, status, text, headers)
	ngx.status = status
	-- Without it the answer is in chunks. An answer without a body has that of another one.
	if status ~= 304 then
		ngx.header["Content-Length"] = #text
	end
	ngx.header["Content-Type"] = text ~= "" and "text/plain" or nil
	for i = 1, headers and #headers or 0, 2 do
		ngx.header[headers[i]] = headers[i + 1]
	end
	_M.add_headers(asked)
	ngx.print(text)
	return ngx.exit(status)
end

return _M
