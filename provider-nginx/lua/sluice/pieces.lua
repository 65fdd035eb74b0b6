-- SPDX-License-Identifier: Apache-2.0
-- Texts that are made of pieces (PROTOCOL.md): each becomes a function of what was asked (asked.lua).
local asked_of = require("sluice.asked")

local _M = {}

local find, sub, gsub, byte, format, lower, concat = string.find, string.sub, string.gsub, string.byte, string.format, string.lower, table.concat

local function encode(c)
	return format("%%%02X", byte(c))
end

-- All but unreserved characters encoded.
function _M.escape(text)
	return (gsub(text, "[^%w%-._~]", encode))
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
	target_escaped = function() return function(asked) return _M.escape(asked_of.target(asked)) end end,
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

local function taker_of(piece)
	local word, argument = piece[1], piece[2]
	if word == "group" then
		argument = tonumber(argument)
	elseif word == "header" then
		argument = lower(argument)
	end
	return takers[word](argument or "")
end

-- A function of list[from..]: what becomes of it for a request, as a header or a location, or, if the second argument is true, before to_path().
function _M.new(list, from)
	local parts = {}
	for i = from, #list do
		parts[#parts + 1] = taker_of(list[i])
	end
	return function(asked, is_path)
		local values = {}
		for i = 1, #parts do
			local value = parts[i](asked, is_path) or ""
			values[i] = find(value, "[%z\1-\31\127]") and "" or value
		end
		return concat(values)
	end
end

-- As a path: with a slash in front, and bytes encoded that none can have.
function _M.to_path(text)
	local path = gsub(text, "[^%w%-._~!$&'()*+,;=:@/%%]", encode)
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
