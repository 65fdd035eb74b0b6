-- SPDX-License-Identifier: Apache-2.0
-- The trace that a request belongs to (W3C Trace Context): what a client says of it is kept where it is valid, and else one is begun. Its name is that of the
-- request, so that one look-up leads from a line of the access log to both.
local _M = {}

local byte, find, match, sub = string.byte, string.find, string.match, string.sub

local LEN = #"00-0123456789abcdef0123456789abcdef-0123456789abcdef-00"
local LEN_MAX = 512 -- of a version that is not known yet
local HEADERS_MAX = 256
local DASH = 45
local flags

-- The name of the trace; nil: that is none. A later version may have more behind what this one has.
function _M.read(text)
	if #text < LEN or #text > LEN_MAX then
		return nil
	end
	local version, id, parent = match(text, "^([0-9a-f][0-9a-f])%-([0-9a-f]+)%-([0-9a-f]+)%-[0-9a-f][0-9a-f]")
	if not version or #id ~= 32 or #parent ~= 16 or version == "ff" or not find(id, "[^0]") or not find(parent, "[^0]") then
		return nil
	elseif #text > LEN and (version == "00" or byte(text, LEN + 1) ~= DASH or find(text, "[^!-~]")) then
		return nil
	end
	return id
end

local function kept()
	if not ngx.var.http_traceparent then
		return nil
	end
	local value = ngx.req.get_headers(HEADERS_MAX).traceparent
	return type(value) == "string" and _M.read(value)
end

-- Before the request is routed.
function _M.begin()
	local var, id = ngx.var, kept()
	if not id then
		id = var.request_id
		ngx.req.set_header("traceparent", "00-" .. id .. "-" .. sub(id, 17) .. flags)
		-- It belongs to the other one.
		if var.http_tracestate then
			ngx.req.clear_header("tracestate")
		end
	end
	if not var.http_x_request_id then
		ngx.req.set_header("X-Request-ID", var.request_id)
	end
	var.sluice_trace = id
end

-- `is_sampled`: whoever is asked is to record traces that are begun here.
function _M.init(is_sampled)
	flags = is_sampled and "-01" or "-00"
end

return _M
