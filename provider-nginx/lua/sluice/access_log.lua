-- SPDX-License-Identifier: Apache-2.0
-- The access log (doc/access-logs.md): what is known of a request while it is routed, and the line that is made of it when it has ended. nginx writes the
-- line that stands in $sluice_log_line, unless it is empty. With metrics of Ingresses what is known goes to traffic_counts.lua, too; without both nothing here is called.
local traffic_counts = require("sluice.traffic_counts")
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request

local _M = { is_on = false } -- is_on: somebody wants to know whose a request is

local find, gsub, sub, byte, format, match = string.find, string.gsub, string.sub, string.byte, string.format, string.match
local floor, concat = math.floor, table.concat
local cast, uintptr = ffi.cast, ffi.typeof("uintptr_t")

local HOST_MAX, TARGET_MAX, TEXT_MAX = 255, 2048, 1024 -- bytes of what clients say
local DASH = 45 -- before the Ingress: there is no line

-- Of requests that have not ended, by their addresses: to whom they were led and why they were refused.
local notes = {}
local make_line
local second, second_text = -1, ""

local function request_id()
	return tonumber(cast(uintptr, get_request()))
end

-- ---- what is known of a request ----

-- It gets no line, and is not counted.
function _M.leave_out()
	if traffic_counts.is_on then
		traffic_counts.leave_out()
	end
	if make_line then
		notes[request_id()] = { is_left_out = true }
	end
end

-- `row`: what was found for its path, with the Ingress behind a bar (provider-proxy/routes.h); nil: nothing.
function _M.found(row, pool)
	if traffic_counts.is_on then
		traffic_counts.found(row)
	end
	if make_line then
		local bar = row and find(row, "|", 1, true)
		notes[request_id()] = { owner = bar and sub(row, bar + 1), pool = pool }
	end
end

-- Likewise for the rule of a route.
function _M.chosen(rule, pool)
	if traffic_counts.is_on then
		traffic_counts.chosen(rule and rule.owner)
	end
	if make_line then
		notes[request_id()] = { owner = rule and rule.owner, pool = pool }
	end
end

-- It is answered by ourselves; `why` is a word of the table in doc/access-logs.md.
function _M.refused(why)
	if traffic_counts.is_on then
		traffic_counts.refused(why)
	end
	if make_line then
		local id = request_id()
		local note = notes[id]
		if note then
			note.why = note.why or why
		else
			notes[id] = { why = why }
		end
	end
end

-- Another endpoint is asked.
function _M.retried()
	if traffic_counts.is_on then
		traffic_counts.retried()
	end
end

-- ---- lines ----

local function escape(c)
	return (c == '"' or c == "\\") and "\\" .. c or format("\\u%04x", byte(c))
end

-- As JSON has texts, without the quotes; bytes beyond ASCII as characters of Latin-1.
local function quote(text, max)
	if not text then
		return ""
	end
	if #text > max then
		text = sub(text, 1, max)
	end
	return find(text, '[%c"\\\127-\255]') and gsub(text, '[%c"\\\127-\255]', escape) or text
end

-- The last of several tries, in seconds; nil: it did not get so far.
local function last_ms(list)
	local text = list and match(list, "([%d.]+)[,: ]*$")
	return text and floor(tonumber(text) * 1000 + 0.5)
end

local function time_text()
	local now = ngx.now()
	local whole = floor(now)
	if whole ~= second then
		second, second_text = whole, os.date("!%Y-%m-%dT%H:%M:%S", whole)
	end
	return format("%s.%03dZ", second_text, floor((now - whole) * 1000))
end

local OF_STATUS = { [400] = "bad-request", [405] = "bad-request", [408] = "client-timeout", [413] = "body-limit", [414] = "bad-request", [499] = "client-gone",
	[501] = "bad-request", [505] = "bad-request" }
local OF_BACKEND = { [499] = "client-gone", [504] = "timeout" }

-- Why a backend's answer is not what the client got; empty: it is.
local function reason_of(note, var, status)
	if note and note.why then
		return note.why
	elseif not var.upstream_addr then
		return OF_STATUS[status] or ""
	end
	return last_ms(var.upstream_header_time) and "" or OF_BACKEND[status] or "backend-failed"
end

local function facts_of(note, var)
	local pool, owner = note and note.pool, note and note.owner
	local connect, head = last_ms(var.upstream_connect_time), last_ms(var.upstream_header_time)
	local namespace, ingress = match(owner or "", "^([^/]*)/(.*)$")
	local status = ngx.status
	return {
		namespace = namespace or pool and pool.namespace or "",
		ingress = ingress or "",
		service = pool and pool.service and pool.service .. ":" .. pool.service_port or "",
		endpoint = match(var.upstream_addr or "", "([^, ]+)[,: ]*$") or "",
		status = status,
		reason = reason_of(note, var, status),
		-- nginx takes these times from two clocks, each of which is cut to a millisecond: no part is longer than the whole.
		duration = math.max(floor(tonumber(var.request_time) * 1000 + 0.5), connect or 0, head or 0),
		connect = connect or -1,
		first_byte = head and head - (connect or 0) or -1,
	}
end

local function json_line(facts, var)
	return concat({
		'{"time":"', time_text(), '","client":"', var.remote_addr,
		'","method":"', quote(var.request_method, TEXT_MAX), '","host":"', quote(var.http_host, HOST_MAX),
		'","path":"', quote(var.request_uri, TARGET_MAX), '","protocol":"', quote(var.server_protocol, TEXT_MAX),
		'","status":', facts.status, ',"bytes":', var.bytes_sent, ',"received":', var.request_length,
		',"duration_ms":', facts.duration, ',"connect_ms":', facts.connect, ',"first_byte_ms":', facts.first_byte,
		',"request_id":"', var.request_id, '","trace_id":"', var.sluice_trace or "", '","tls":"', var.ssl_protocol or "",
		'","namespace":"', facts.namespace, '","ingress":"', facts.ingress, '","service":"', facts.service,
		'","endpoint":"', facts.endpoint, '","reason":"', facts.reason,
		'","referer":"', quote(var.http_referer, TEXT_MAX), '","user_agent":"', quote(var.http_user_agent, TEXT_MAX), '"}',
	})
end

local function or_dash(text)
	return text ~= "" and text or "-"
end

local function text_line(facts, var)
	return concat({
		var.remote_addr, " - - [", var.time_local, '] "', quote(var.request_method, TEXT_MAX), " ", quote(var.request_uri, TARGET_MAX), " ",
		quote(var.server_protocol, TEXT_MAX), '" ', facts.status, " ", var.bytes_sent,
		' "', or_dash(quote(var.http_referer, TEXT_MAX)), '" "', or_dash(quote(var.http_user_agent, TEXT_MAX)),
		'" host="', quote(var.http_host, HOST_MAX), '" received=', var.request_length,
		" duration_ms=", facts.duration, " connect_ms=", facts.connect, " first_byte_ms=", facts.first_byte,
		" request_id=", var.request_id, " trace_id=", or_dash(var.sluice_trace or ""), " tls=", or_dash(var.ssl_protocol or ""),
		" namespace=", or_dash(facts.namespace), " ingress=", or_dash(facts.ingress), " service=", or_dash(facts.service),
		" endpoint=", or_dash(facts.endpoint), " reason=", or_dash(facts.reason),
	})
end

-- Log phase of all locations that clients come to, if there is an access log. `pool`: who was asked at last, if it is known.
function _M.write(pool)
	local id = request_id()
	local note = notes[id]
	notes[id] = nil
	if note then
		if note.is_left_out or (note.owner and byte(note.owner) == DASH) then
			return
		end
		note.pool = pool or note.pool
	end
	local var = ngx.var
	var.sluice_log_line = make_line(facts_of(note, var), var)
end

-- `form`: json, text or off. `ingresses`: how many are counted.
function _M.init(form, ingresses)
	traffic_counts.init(ingresses)
	make_line = form == "json" and json_line or form == "text" and text_line or nil
	_M.has_lines = make_line ~= nil
	_M.is_on = _M.has_lines or traffic_counts.is_on
end

return _M
