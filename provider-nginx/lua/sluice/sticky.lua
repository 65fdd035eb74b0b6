-- SPDX-License-Identifier: Apache-2.0
-- Cookies that bring a client back to its endpoint. Their value is the endpoint's id, which tells nothing of its address, or with `affinity` what sessions.lua says.
local rewrites = require("sluice.rewrites")
local sessions = require("sluice.sessions")

local _M = {}

local byte, find, match, sub = string.byte, string.find, string.match, string.sub
local max = math.max
local TAB, SPACE, SEMICOLON = 9, 32, 59
local COPIES_MAX = 8 -- of one cookie that are taken out; a client that sends more shows the backend an id that means nothing to it

-- Where the cookie begins whose name stands at `at`, with the blanks before it; nil when the name is the end of another's or stands in a value.
local function start_of(header, at)
	while at > 1 do
		local before = byte(header, at - 1)
		if before == SEMICOLON then
			return at
		end
		if before ~= SPACE and before ~= TAB then
			return nil
		end
		at = at - 1
	end
	return at
end

-- Of a Cookie header: the value of the cookie of that name, or nil, and the rest without it, nil when nothing is left.
function _M.split(header, name)
	local key = name .. "="
	local value
	local pieces, copies, kept_from = {}, 0, 1
	local at = find(header, key, 1, true)
	while at and copies < COPIES_MAX do
		local start, next_from = start_of(header, at), at + #key
		if start then
			local stop = find(header, ";", next_from, true) or #header + 1
			value = value or match(sub(header, next_from, stop - 1), "^[^ \t]*")
			copies = copies + 1
			-- The last one takes the semicolon before it along.
			pieces[copies] = sub(header, kept_from, stop > #header and max(start - 2, 0) or start - 1)
			kept_from, next_from = stop + 1, stop
		end
		at = find(header, key, next_from, true)
	end
	if not value then
		return nil, header
	end
	local rest = table.concat(pieces) .. sub(header, kept_from)
	local first = find(rest, "[^; \t]")
	return value, first and sub(rest, first) or nil
end

-- What the cookie says of the endpoint, as the client sent it, and with `indirect` the cookie is taken out of the request.
function _M.read(sticky)
	local header = ngx.var.http_cookie
	if not header then
		return nil
	end
	local value, rest = _M.split(header, sticky.name)
	if value and sticky.indirect then
		if rest then
			ngx.req.set_header("Cookie", rest)
		else
			ngx.req.clear_header("Cookie")
		end
	end
	if value and sticky.affinity then
		return sessions.key(value)
	end
	return value
end

-- Browsers that take SameSite=None for Strict, or refuse a cookie that has it (https://www.chromium.org/updates/same-site/incompatible-clients).
local UNKNOWING = { "Chrome/4", "Chrome/5", "Chrome/6", "CPU iPhone OS 12", "iPad; CPU OS 12" }

local function knows_none(agent)
	for _, word in ipairs(UNKNOWING) do
		if find(agent, word, 1, true) then
			return false
		end
	end
	local is_safari_14 = find(agent, "Macintosh", 1, true) and find(agent, "Intel Mac OS X 10_14", 1, true) and find(agent, "Safari", 1, true)
	return not is_safari_14 or find(agent, "Chrome", 1, true) ~= nil
end

-- What pools.lua has parsed, in the order in which ingress-nginx writes it.
function _M.cookie_with(sticky, id, is_tls, agent, path)
	local affinity = sticky.affinity
	local parts = { sticky.name .. "=" .. id }
	local function add(text)
		parts[#parts + 1] = text
	end
	if affinity.expires then
		add("Expires=" .. ngx.http_time(ngx.time() + affinity.expires))
	end
	if affinity.max_age then
		add("Max-Age=" .. affinity.max_age)
	end
	if sticky.domain then
		add("Domain=" .. sticky.domain)
	end
	add("Path=" .. (affinity.path or path or "/"))
	if affinity.secure == "always" or (affinity.secure == "tls" and is_tls) then
		add("Secure")
	end
	add("HttpOnly")
	if affinity.same_site and (affinity.same_site ~= "None" or not affinity.same_site_known or knows_none(agent)) then
		add("SameSite=" .. affinity.same_site)
	end
	return table.concat(parts, "; ")
end

local function plain_cookie(sticky, id)
	local cookie = sticky.name .. "=" .. id .. "; Path=/; HttpOnly"
	if sticky.domain then
		cookie = cookie .. "; Domain=" .. sticky.domain
	end
	if ngx.var.scheme == "https" then
		cookie = cookie .. "; Secure"
	end
	return cookie
end

local function cookie_of(ctx)
	local sticky = ctx.sticky
	if not sticky.affinity then
		return plain_cookie(sticky, ctx.session)
	end
	local rule = ctx.asked and ctx.asked.rule
	return _M.cookie_with(sticky, ctx.session .. "|" .. ctx.pool.tag, ngx.var.scheme == "https", ngx.var.http_user_agent or "", rule and rule.cookie_path)
end

-- Whether to tell the client the endpoint. One that stays with it whatever happens is not told of one that did not answer.
local function is_to_be_told(ctx, sticky)
	if not ctx.peer or ctx.wanted == ctx.session or (sticky.postonly and ngx.req.get_method() ~= "POST") then
		return false
	end
	return not sticky.stays or find(ngx.var.upstream_header_time or "-", "%d$") ~= nil
end

-- What tells the client the endpoint that answered; nil: it knows.
function _M.new_cookie(ctx)
	local sticky = ctx.sticky
	return sticky and is_to_be_told(ctx, sticky) and cookie_of(ctx) or nil
end

-- In the header filter.
function _M.write(ctx)
	local sticky, cookie = ctx.sticky, _M.new_cookie(ctx)
	if not cookie then
		return
	end
	local cookies = rewrites.values("Set-Cookie")
	if type(cookies) == "table" then
		cookies[#cookies + 1] = cookie
	else
		cookies = cookies and { cookies, cookie } or cookie
	end
	ngx.header["Set-Cookie"] = cookies
	if sticky.nocache then
		ngx.header["Cache-Control"] = "private"
	end
end

return _M
