-- SPDX-License-Identifier: Apache-2.0
-- What whoever asks says of the client and of the host, for backends that want to know although nobody vouches for it. It goes by the names that
-- kubernetes/ingress-nginx has given it, and nothing else does.
local _M = {}

local gsub, lower = string.gsub, string.lower

-- By the header that names clients, what var.http_... is for it.
local variables = {}

local function set(var, name, variable, value, len_max)
	if value and value ~= "" and #value <= len_max then
		ngx.req.set_header(name, value)
	elseif var[variable] then
		ngx.req.clear_header(name)
	end
end

-- Before anything that is ours to say is taken out.
function _M.keep(client_header, len_max)
	local var, variable = ngx.var, variables[client_header]
	if not variable then
		variable = "http_" .. lower((gsub(client_header, "-", "_")))
		variables[client_header] = variable
	end
	set(var, "X-Original-Forwarded-For", "http_x_original_forwarded_for", var[variable], len_max)
	set(var, "X-Original-Forwarded-Host", "http_x_original_forwarded_host", var.http_x_forwarded_host, len_max)
end

return _M
