-- SPDX-License-Identifier: Apache-2.0
-- Texts that are made of pieces (PROTOCOL.md): each becomes a function of what was asked (asked.lua).
local asked_of = require("sluice.asked")
local ffi = require("ffi")

local _M = {}

-- For most texts these tell that nothing has to be done, and LuaJIT compiles a call of them, but none of a pattern.
ffi.cdef [[
size_t strspn(const char *, const char *);
size_t strcspn(const char *, const char *);
]]
local C = ffi.C

local PARTS_JOINED_MAX = 4
local VALUE_LEN_MAX = 16384
local find, sub, gsub, byte, format, lower, concat = string.find, string.sub, string.gsub, string.byte, string.format, string.lower, table.concat

local PATH_BYTES, CONTROLS = "%-._~!$&'()*+,;=:@/", "\127"
for c = 1, 31 do
	CONTROLS = CONTROLS .. string.char(c)
end
for c = 48, 122 do
	PATH_BYTES = PATH_BYTES .. string.match(string.char(c), "%w*")
end

local function encode(c)
	return format("%%%02X", byte(c))
end

-- All but unreserved characters encoded.
function _M.escape(text)
	return (gsub(text, "[^%w%-._~]", encode))
end

local function escaped_target(asked)
	asked.escaped = asked.escaped or _M.escape(asked_of.target(asked))
	return asked.escaped
end

-- In a path a percent sign that was decoded is none that encodes anything.
local function again(asked, value, is_path)
	return value and is_path and asked.is_decoded and gsub(value, "%%", "%%25") or value
end

local takers = {
	text = function(text) return function() return text end end,
	group = function(number) return function(asked, is_path) return again(asked, asked.groups[number], is_path) end end,
	scheme = function() return asked_of.scheme end,
	host = function() return function(asked) return asked.name end end,
	host_header = function() return function(asked) return asked.header end end,
	port = function() return asked_of.port end,
	method = function() return function() return ngx.var.request_method end end,
	path = function() return function(asked) return asked.path end end,
	path_rest = function() return function(asked, is_path) return again(asked, asked.rest, is_path) end end,
	query = function() return function(asked) return sub(asked_of.arguments(asked), 2) end end,
	arguments = function() return asked_of.arguments end,
	target = function() return asked_of.target end,
	client = function() return function() return ngx.var.remote_addr end end,
	target_unslashed = function() return function(asked) return (gsub(asked_of.target(asked), "/$", "")) end end,
	target_escaped = function() return escaped_target end,
	request_id = function() return function(asked) return asked_of.header(asked, "x-request-id") or ngx.var.request_id end end,
	service = function() return function(asked) return asked.chosen and asked.chosen.service end end,
	service_port = function() return function(asked) return asked.chosen and asked.chosen.service_port end end,
	status = function() return function(asked) return asked.error_status and tostring(asked.error_status) end end,
	header = function(name) return function(asked) return asked_of.header(asked, name) end end,
	cookie = function(name) return function(asked) return asked_of.cookie(asked, name) end end,
	argument = function(name) return function(asked) return asked_of.argument(asked, name) end end,
}

-- Whether a piece of list[from..] is of a header, which has to be read before any is changed.
function _M.use_headers(list, from)
	for i = from, #list do
		if list[i][1] == "header" or list[i][1] == "cookie" then
			return true
		end
	end
	return false
end

-- Nothing if it has bytes that no header may have, or more than there is room for. A NUL ends what C sees of a text.
local function clean(value, room)
	return #value <= room and tonumber(C.strcspn(value, CONTROLS)) == #value and value or ""
end

local function taker_of(piece)
	local word, argument = piece[1], piece[2]
	if word == "group" then
		argument = tonumber(argument)
	elseif word == "header" then
		argument = lower(argument)
	end
	return takers[word](argument or "")
end

-- No loop: LuaJIT compiles the way of a request around one in pieces.
local function join(parts, asked, is_path, i, room)
	local part = parts[i]
	if not part then
		return ""
	end
	local value = clean(part(asked, is_path) or "", room)
	return value .. join(parts, asked, is_path, i + 1, room - #value)
end

-- A function of list[from..]: what becomes of it for a request, as a header or a location, or, if the second argument is true, before to_path().
function _M.new(list, from)
	local parts = {}
	for i = from, #list do
		parts[#parts + 1] = taker_of(list[i])
	end
	if #parts <= PARTS_JOINED_MAX then
		return function(asked, is_path)
			return join(parts, asked, is_path, 1, VALUE_LEN_MAX)
		end
	end
	return function(asked, is_path)
		local values, room = {}, VALUE_LEN_MAX
		for i = 1, #parts do
			values[i] = clean(parts[i](asked, is_path) or "", room)
			room = room - #values[i]
		end
		return concat(values)
	end
end

-- As a path: with a slash in front, and bytes encoded that none can have.
function _M.to_path(text)
	local path = tonumber(C.strspn(text, PATH_BYTES)) == #text and text or gsub(text, "[^%w%-._~!$&'()*+,;=:@/%%]", encode)
	return byte(path) == 47 and path or "/" .. path
end

-- As a path that may have a query.
function _M.to_target(text)
	local at = find(text, "?", 1, true)
	if not at then
		return _M.to_path(text)
	end
	return _M.to_path(sub(text, 1, at - 1)) .. gsub(sub(text, at), "[^%w%-._~!$&'()*+,;=:@/?%%%[%]]", encode)
end

return _M
