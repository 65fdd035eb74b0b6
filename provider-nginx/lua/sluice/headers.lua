-- SPDX-License-Identifier: Apache-2.0
-- What has to be known of a request's headers before it is passed on, with one look at their names and without a copy of them.
local ffi = require("ffi")
local base = require("resty.core.base")
require("resty.core.request") -- declares what is used here
require("resty.core.var")
local asked_of = require("sluice.asked")

local _M = {}

local C = ffi.C
local text_of, get_request = ffi.string, base.get_request
local HEADERS_MAX = 256 -- of a request, as with tune.http.maxhdr of HAProxy
local CLAIM_LEN_MIN = #"x-forwarded-"
local CLAIMS_MAX = 32 -- names of headers that are ours to say: for each that is dropped nginx walks all headers
local F, H, K, O, P, U, X = 102, 104, 107, 111, 112, 117, 120
local SLASH, HASH, QUESTION_MARK = 47, 35, 63
local TARGET, HOST = "request_uri", "host"
local find, byte = string.find, string.byte

local elements = ffi.new("ngx_http_lua_ffi_table_elt_t[?]", HEADERS_MAX)
local is_truncated = ffi.new("int[1]")
local lower_name, value, value_len = ffi.new("char[?]", #TARGET), ffi.new("unsigned char *[1]"), ffi.new("size_t[1]")
local error_text = ffi.new("char *[1]")
-- nginx.conf.tmpl replaces these itself.
local OWN = {
	["x-forwarded-for"] = true, ["x-forwarded-proto"] = true, ["x-forwarded-host"] = true, ["x-forwarded-port"] = true, ["x-real-ip"] = true,
	forwarded = true,
}

local HOST_WORD = ffi.new("union { char text[4]; uint32_t word; }", HOST).word -- four bytes are compared at once, without a string
local words_at = ffi.typeof("const uint32_t *")

ffi.cdef "void *memchr(const void *, int, size_t); int memcmp(const void *, const void *, size_t);"

-- By first letter and length: headers that must not be passed on as they are, which only the locations of protocols see to.
local SPECIAL = {
	[U] = { [#"upgrade"] = "upgrade" },
	[K] = { [#"keep-alive"] = "keep-alive" },
	[P] = { [#"proxy"] = "proxy", [#"proxy-connection"] = "proxy-connection" },
	[H] = { [#"http2-settings"] = "http2-settings" },
}

local function is_special(first, key)
	local name = SPECIAL[first][key.len]
	return name and text_of(key.data, key.len) == name
end

local function join(before, more)
	return before and before .. ", " .. more or more
end

-- The Host header, empty without one; whether the client says of itself what is ours to say; whether some header is special; whether there are
-- more headers than anybody needs; and the Origin header, nil without one, joined as asked.lua does it.
function _M.look()
	local request = get_request()
	local count = C.ngx_http_lua_ffi_req_get_headers_count(request, HEADERS_MAX, is_truncated)
	local host, has_claims, has_special, is_too_many, origin = "", false, false, is_truncated[0] ~= 0, nil
	if count > 0 then
		count = C.ngx_http_lua_ffi_req_get_headers(request, elements, count, 0) == 0 and count or 0
	end
	for i = 0, count - 1 do
		local key = elements[i].key
		local first = key.data[0]
		if first == H and key.len == 4 then
			if ffi.cast(words_at, key.data)[0] == HOST_WORD then
				has_special = has_special or host ~= ""
				host = text_of(elements[i].value.data, elements[i].value.len)
			end
		elseif first == X then
			if key.len >= CLAIM_LEN_MIN and key.data[2] == F then
				local name = text_of(key.data, key.len)
				has_claims = has_claims or (not OWN[name] and find(name, "x-forwarded-", 1, true) == 1)
			end
		elseif first == O and key.len == 6 then
			if text_of(key.data, 6) == "origin" then
				origin = join(origin, text_of(elements[i].value.data, elements[i].value.len))
			end
		elseif first == U or first == K or first == P or first == H then
			has_special = has_special or is_special(first, key)
		end
	end
	return host, has_claims, has_special, is_too_many, origin
end

-- The value of one of nginx's variables is at `value` then.
local function read_variable(name)
	return C.ngx_http_lua_ffi_var_get(get_request(), name, #name, lower_name, 0, value, value_len, error_text) == 0
end

-- Whether nginx takes the request to be for the host of that name, which is its own spelling of it.
function _M.is_for(name)
	return read_variable(HOST) and value_len[0] == #name and C.memcmp(value[0], name, #name) == 0
end

-- Whether the target is a path, perhaps with a query, of bytes that a target may have: what uri.path_of() tells, but without a copy of it. nginx has
-- taken a scheme and an authority away already.
function _M.has_plain_target()
	if not read_variable(TARGET) then
		return false
	end
	local text, last = value[0], tonumber(value_len[0]) - 1
	if last < 0 or text[0] ~= SLASH then
		return false
	end
	for i = 1, last do
		local c = text[i]
		if c < 33 or c > 126 or c == HASH then
			return false
		end
	end
	return true
end

-- Behind a has_plain_target() that was true: its path.
function _M.plain_path()
	local text, len = value[0], value_len[0]
	local query = C.memchr(text, QUESTION_MARK, len)
	if query == nil then
		return text_of(text, len)
	end
	return text_of(text, ffi.cast("unsigned char *", query) - text)
end

-- Whether nginx.conf.tmpl has a value of its own for the header, by its name in lower case.
function _M.is_own(name)
	return OWN[name] ~= nil
end

-- Whether the locations of protocols in nginx.conf.tmpl have another value for it than the one that every request enters by, or can be told another.
function _M.is_of_location(name)
	local special = SPECIAL[byte(name)]
	return name == "host" or OWN[name] ~= nil or (special ~= nil and special[#name] == name)
end

-- Whether it is ours to say.
function _M.is_claim(name)
	return OWN[name] or find(name, "x-forwarded-", 1, true) == 1
end

-- The value of Forwarded, and the server name for backends that speak TLS: the name that was asked for, whatever a proxy in front says. `host` and `name`: those of the request.
function _M.forwarded(var, host, name)
	local client, told = var.remote_addr, var.sluice_told_scheme
	-- Where the host is told, the scheme is.
	if told and told ~= "" then
		host = asked_of.told_host(host)
	end
	local who = find(client, ":", 1, true) and '"[' .. client .. ']"' or client
	return "for=" .. who .. (host ~= "" and ';host="' .. host .. '"' or "") .. ";proto=" .. (told and told ~= "" and told or var.scheme), name
end

-- What only we say of a client is ours to say: whatever came under these names is dropped. False: there is more than anybody needs.
function _M.drop_claims()
	local headers, problem = ngx.req.get_headers(HEADERS_MAX)
	local count = 0
	if problem then
		return false
	end
	for name in pairs(headers) do
		if _M.is_claim(name) then
			count = count + 1
			if count > CLAIMS_MAX then
				return false
			end
			ngx.req.clear_header(name)
		end
	end
	return true
end

return _M
