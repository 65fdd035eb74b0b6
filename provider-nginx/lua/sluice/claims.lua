-- SPDX-License-Identifier: Apache-2.0
-- What whoever asks says of the client and of the host, for backends that want to know although nobody vouches for it. It goes by the names that
-- kubernetes/ingress-nginx has given it, and nothing else does.
local _M = {}

local concat, gsub, lower, type = table.concat, string.gsub, string.lower, type

-- What those who are believed may say besides naming the client, by names as they are in tables of headers.
local SAID = { "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto" }

-- By the header that names clients, its name in lower case, and what var.http_... is for it.
local names, variables = {}, {}

local function learn(client_header)
	local name = lower(client_header)
	names[client_header], variables[client_header] = name, "http_" .. gsub(name, "-", "_")
end

-- nginx 1.22 knows only the first of several lines, but for X-Forwarded-For.
local function all_lines(name)
	local value = ngx.req.get_headers(0)[name]
	return type(value) == "table" and concat(value, ", ") or value
end

local function set(var, name, variable, value, len_max)
	if value and value ~= "" and #value <= len_max then
		ngx.req.set_header(name, value)
	elseif var[variable] then
		ngx.req.clear_header(name)
	end
end

-- Before anything that is ours to say is taken out.
function _M.keep(client_header, len_max)
	local var = ngx.var
	if not names[client_header] then
		learn(client_header)
	end
	local client = var[variables[client_header]] and all_lines(names[client_header])
	local host = var.http_x_forwarded_host and all_lines("x-forwarded-host")
	set(var, "X-Original-Forwarded-For", "http_x_original_forwarded_for", client, len_max)
	set(var, "X-Original-Forwarded-Host", "http_x_original_forwarded_host", host, len_max)
end

-- Several lines become one value, as HTTP has it, before nginx looks at any: `is_front` is "1" for who is believed. "several": so has the header that names the client.
function _M.join(client_header, is_front)
	if is_front ~= "1" then
		return ""
	end
	if not names[client_header] then
		learn(client_header)
	end
	local headers = ngx.req.get_headers(0)
	for i = 1, #SAID do
		local value = headers[SAID[i]]
		if type(value) == "table" then
			ngx.req.set_header(SAID[i], concat(value, ", "))
		end
	end
	return type(headers[names[client_header]]) == "table" and "several" or ""
end

return _M
