-- SPDX-License-Identifier: Apache-2.0
-- Hosts and targets of requests, read from bytes that anybody may have sent: no pattern has two repetitions that could share a byte, so the work
-- grows with the length alone. No I/O.
local _M = {}

local find, sub, lower, byte = string.find, string.sub, string.lower, string.byte
local HASH, DOT, SLASH, COLON, BRACKET = 35, 46, 47, 58, 91
local PORT_DIGITS_MAX = 5
local HOST_LEN_MAX = 253 + 1 + 1 + PORT_DIGITS_MAX -- a name, a dot behind it, a colon, a port

-- The name in a Host header, without its port; nil when it is none.
function _M.split_host(text)
	if #text > HOST_LEN_MAX then
		return nil
	end
	local _, last = find(text, byte(text) == BRACKET and "^%[[%x:.]+%]" or "^[%w._-]*")
	if not last then
		return nil
	end
	if last < #text then
		local port = sub(text, last + 2)
		if byte(text, last + 1) ~= COLON or #port > PORT_DIGITS_MAX or find(port, "%D") or (tonumber(port) or 0) > 65535 then
			return nil
		end
	end
	return sub(text, 1, last)
end

-- Lower case, without one trailing dot.
function _M.normal_name(name)
	name = lower(name)
	if byte(name, -1) == DOT then
		name = sub(name, 1, -2)
	end
	return name
end

-- `.b.c` of `a.b.c`: what follows the `*` of a wildcard that fits; nil when none can.
function _M.parent_of(name)
	local dot = find(name, ".", 1, true)
	return dot and dot > 1 and dot < #name and sub(name, dot) or nil
end

-- Whether all bytes are printable ASCII and none is `#`. As a loop the compiler makes this ten times as fast as a pattern.
local function is_clean(target)
	for i = 1, #target do
		local c = byte(target, i)
		if c < 33 or c > 126 or c == HASH then
			return false
		end
	end
	return true
end

-- The path as sent, without the query; nil when the target has bytes that no target may have.
function _M.path_of(target)
	if not is_clean(target) then
		return nil
	end
	local first = 1
	if byte(target) ~= SLASH then
		local _, last = find(target, "^%a[%w+.-]*://[^/?]*")
		if not last then
			return nil
		end
		first = last + 1
	end
	local query = find(target, "?", first, true)
	local path = sub(target, first, query and query - 1 or -1)
	return path ~= "" and path or "/"
end

return _M
