-- SPDX-License-Identifier: Apache-2.0
-- Cookies that bring a client back to its endpoint. Their value is the endpoint's id, which tells nothing of its address.
local _M = {}

local gsub, match, find = string.gsub, string.match, string.find

-- What finds the cookie of that name in a Cookie header behind a semicolon, and what finds all of it. Each repetition ends where the next word
-- cannot go on, so that the work grows with the length of the header alone.
function _M.patterns(name)
	local quoted = gsub(name, "%W", "%%%0")
	return ";[ \t]*" .. quoted .. "=([^; \t]*)", ";[ \t]*" .. quoted .. "=[^;]*"
end

-- The value of the pool's cookie in a Cookie header, or nil, and the header without it: nil when nothing is left.
function _M.split(sticky, header)
	if not find(header, sticky.name, 1, true) then
		return nil, header
	end
	header = ";" .. header
	local value = match(header, sticky.value_pattern)
	if not value then
		return nil, header:sub(2)
	end
	return value, match(gsub(header, sticky.cookie_pattern, ""), "[^; \t].*")
end

-- The value of the pool's cookie as the client sent it, and with `indirect` the cookie is taken out of the request.
function _M.read(sticky)
	local header = ngx.var.http_cookie
	if not header then
		return nil
	end
	local value, rest = _M.split(sticky, header)
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
	if ngx.var.sluice_tls == "1" then
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
