-- SPDX-License-Identifier: Apache-2.0
-- Cookies that bring a client back to its endpoint. Their value is the endpoint's id, which tells nothing of its address.
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

-- The value of the pool's cookie as the client sent it, and with `indirect` the cookie is taken out of the request.
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
	return value
end

-- In the header filter: tells the client the endpoint that answered, unless it knows.
function _M.write()
	local ctx = ngx.ctx
	local sticky = ctx.pool and ctx.pool.sticky
	if not sticky or not ctx.peer or ctx.wanted == ctx.peer.id then
		return
	end
	if sticky.postonly and ngx.req.get_method() ~= "POST" then
		return
	end
	local cookie = sticky.name .. "=" .. ctx.peer.id .. "; Path=/; HttpOnly"
	if sticky.domain then
		cookie = cookie .. "; Domain=" .. sticky.domain
	end
	if ngx.var.scheme == "https" then
		cookie = cookie .. "; Secure"
	end
	local cookies = ngx.header["Set-Cookie"]
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
