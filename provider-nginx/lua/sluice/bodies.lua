-- SPDX-License-Identifier: Apache-2.0
-- Bodies whose length nobody has told, of requests that may have so many bytes. nginx has no limit of them that varies, but those of locations (nginx.conf.tmpl): such a
-- body is read as a whole in the one with the next greater limit, which bounds what is read, and then it is known how long it is.
local _M = {}

local MB = 1024 * 1024
local CLASSES = { { MB, "@body_1m" }, { 16 * MB, "@body_16m" }, { 256 * MB, "@body_256m" }, { 4096 * MB, "@body_4g" } }
local LAST = "@body_64g"

-- The location by which the request has to go first; nil: none.
function _M.location_of(asked)
	local max = asked.policy and asked.policy.body_max_bytes
	if not max then
		return nil
	end
	local var = ngx.var
	if var.http_content_length or (not var.http_transfer_encoding and var.server_protocol ~= "HTTP/2.0") then
		return nil
	end
	for _, class in ipairs(CLASSES) do
		if max <= class[1] then
			return class[2]
		end
	end
	return LAST
end

-- In such a location: whether the body is not too long.
function _M.read(asked)
	ngx.req.read_body()
	return (tonumber(ngx.var.content_length) or 0) <= asked.policy.body_max_bytes
end

return _M
