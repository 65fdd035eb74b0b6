-- SPDX-License-Identifier: Apache-2.0
-- The head of an answer, before it goes to the client.
local answer = require("sluice.answer")
local sticky = require("sluice.sticky")

local _M = {}

-- Header filter of all answers. nginx takes the first head that a backend sends for the last one, also an interim one such as 103: what follows it would be
-- its body. A client that believed it would wait for an answer that has been there.
function _M.filter()
	local status = ngx.status
	if status < 200 and status ~= 101 then
		ngx.log(ngx.ERR, "sluice: endpoint ", ngx.var.upstream_addr, " sent the interim status ", status, ", behind which nginx finds no answer")
		ngx.exit(502)
		return true
	end
	return false
end

-- The same where there may be cookies of ours, and policies.
function _M.filter_sticky()
	if not _M.filter() then
		sticky.write()
		local asked = ngx.ctx.asked
		if asked then
			answer.add_headers(asked)
		end
	end
end

return _M
