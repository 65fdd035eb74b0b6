-- SPDX-License-Identifier: Apache-2.0
-- Cookies that bring a client back to its endpoint. Their value is the endpoint's id, which tells nothing of its address.
local _M = {}

local gmatch, match = string.gmatch, string.match

-- The value of the pool's cookie as the client sent it, and with `indirect` the cookie is taken out of the request.
function _M.read(sticky)
	local header = ngx.var.http_cookie
	if not header then
		return nil
	end
	local value
	local others = {}
	for pair in gmatch(header, "[^;]+") do
		local name, text = match(pair, "^%s*([^=%s]*)=?(.-)%s*$")
		if name == sticky.name then
			value = value or text
		else
			others[#others + 1] = match(pair, "^%s*(.-)%s*$")
		end
	end
	if value and sticky.indirect then
		if #others > 0 then
			ngx.req.set_header("Cookie", table.concat(others, "; "))
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
