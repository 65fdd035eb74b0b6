-- SPDX-License-Identifier: Apache-2.0
-- Asks a pool something beside the request that is being served: who may pass, or a copy. nginx's own subrequests serve no HTTP/2 clients, and a client of our own in Lua would
-- have to know all that pools say of TLS and HTTP/2. So the question goes through a socket that only our workers can open to a server of this nginx
-- (nginx_questions.tmpl), which asks the pool as any request does; what comes back is nginx's own spelling of an answer.
local bound = require("sluice.bound")
local decode = require("sluice.decode")
local pools = require("sluice.pools")

local _M = { path = nil } -- of the socket

local find, sub, byte, lower, concat = string.find, string.sub, string.byte, string.lower, table.concat
local BLANK = 32
local CONNECT_MS, LIMIT_S = 1000, 10
local HEAD_MAX, BODY_MAX = 32768, 65536 -- of an answer
local BLOCK = 16384
-- Connections of a worker that nobody uses at the moment; nginx.conf.tmpl keeps its ends of them longer.
local KEPT_S, KEPT_MAX = 50, 32
local POOLED, ALONE = {}, { pool = "sluice_alone" }
-- What may be sent twice: nginx may be ending the connection that is used again.
local REPEATED = { GET = true, HEAD = true, OPTIONS = true }
local under_way = bound.new(1024, 2 * LIMIT_S)

-- Of a request's headers, by name in lower case: those of one connection, of a body, of an upgrade.
local NOT_COPIED = {
	["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true, ["http2-settings"] = true, ["keep-alive"] = true, ["proxy"] = true,
	["proxy-connection"] = true, ["te"] = true, ["trailer"] = true, ["transfer-encoding"] = true, ["upgrade"] = true,
}

-- ---- headers of a question: a list of { name, value } ----

-- Those that say whom it is for; whatever others say in them is left out. `name` is in lower case.
local function is_reserved(name)
	return find(name, "sluice-", 1, true) == 1
end

local function put(list, name, value)
	list[#list + 1] = { name, value }
end

-- Whether the header, by its name in lower case, is nginx's to say.
function _M.is_kept(name)
	return NOT_COPIED[name]
end

-- Of a client's headers, by name, those that `is_ours` does not name.
function _M.headers_of(sent, is_ours)
	local list = {}
	for name, value in pairs(sent) do
		if NOT_COPIED[name] or is_ours(name) or is_reserved(name) then
			value = nil
		end
		if type(value) == "table" then
			for i = 1, #value do
				put(list, name, value[i])
			end
		elseif value then
			put(list, name, value)
		end
	end
	return list
end

function _M.remove(list, name)
	local kept = {}
	for _, pair in ipairs(list) do
		if lower(pair[1]) ~= name then
			kept[#kept + 1] = pair
		end
	end
	return kept
end

-- The list with such changes (PROTOCOL.md); a change of Host is the second.
function _M.change(list, host, changes, asked)
	for _, change in ipairs(changes or {}) do
		local value = change.action ~= "remove" and change.value(asked) or ""
		if change.key == "host" then
			host = change.action == "set" and value ~= "" and value or host
		elseif not is_reserved(change.key) then
			if change.action ~= "add" then
				list = _M.remove(list, change.key)
			end
			if change.action ~= "remove" then
				put(list, change.name, value)
			end
		end
	end
	return list, host
end

-- ---- asking ----

local function head_of(question)
	local body = question.body
	local lines = {
		question.method .. " / HTTP/1.0", "Connection: keep-alive", "Host: " .. question.host, "Sluice-Pool: " .. question.pool, "Sluice-Target: " .. question.target,
	}
	for _, pair in ipairs(question.headers) do
		lines[#lines + 1] = pair[1] .. ": " .. pair[2]
	end
	if body or (question.method ~= "GET" and question.method ~= "HEAD") then
		lines[#lines + 1] = "Content-Length: " .. #(body or "")
	end
	return concat(lines, "\r\n") .. "\r\n\r\n" .. (body or "")
end

-- What has come, and more; nil and why there is no more before `deadline`. Whatever nginx has at hand comes with one read.
local function read_more(socket, deadline, text)
	local left = (deadline - ngx.now()) * 1000
	if left < 1 then
		return nil, "timeout"
	end
	socket:settimeout(left)
	local more, problem = socket:receiveany(BLOCK)
	return more and text .. more, problem
end

-- Every header of text[first..last], which are whole lines, by its name in lower case: a list of values. No patterns, which LuaJIT does not compile.
local function headers_in(text, first, last)
	local found = {}
	while first < last do
		local stop, colon = find(text, "\r\n", first, true), find(text, ":", first, true)
		if colon and colon < stop then
			local name, value = lower(sub(text, first, colon - 1)), sub(text, colon + (byte(text, colon + 1) == BLANK and 2 or 1), stop - 1)
			local values = found[name]
			if values then
				values[#values + 1] = value
			else
				found[name] = { value }
			end
		end
		first = stop + 2
	end
	return found
end

-- The status, the headers, and how many bytes have come of the body. nil and perhaps why there is none.
local function read_head(socket, deadline)
	local text, last = "", nil
	while not last do
		local more, problem = read_more(socket, deadline, text)
		if not more then
			return nil, problem
		end
		text = more
		last = find(text, "\r\n\r\n", 1, true)
		if not last and #text > HEAD_MAX then
			return nil
		end
	end
	local status = sub(text, 1, #"HTTP/1.") == "HTTP/1." and tonumber(sub(text, #"HTTP/1.1 2", #"HTTP/1.1 200"))
	if not status then
		return nil
	end
	return status, headers_in(text, find(text, "\r\n", 1, true) + 2, last), #text - last - 3
end

-- Whether it ends, and not too late; and whether the connection can be used again. nginx keeps it if it knows the length, as with HTTP/1.0 there is no other end. `length`: of
-- it has come already.
local function read_body(socket, deadline, method, status, found, length)
	local is_kept = found.connection and lower(found.connection[1]) == "keep-alive"
	if is_kept and (method == "HEAD" or status == 204 or status == 304) then
		return true, length == 0
	end
	local told = is_kept and found["content-length"] and tonumber(found["content-length"][1])
	if told and told > BODY_MAX then
		return false, false
	end
	while length <= BODY_MAX do
		if told and length >= told then
			return true, length == told
		end
		local more, problem = read_more(socket, deadline, "")
		if not more then
			return problem == "closed", false
		end
		length = length + #more
	end
	return false, false
end

-- What read_head() says, of a connection that was kept or, without `may_repeat`, of one that is new. And whether it was closed before it had said anything.
local function send(socket, question, deadline, may_repeat)
	socket:settimeouts(CONNECT_MS, LIMIT_S * 1000, LIMIT_S * 1000)
	if not socket:connect("unix:" .. _M.path, may_repeat and POOLED or ALONE) then
		return nil
	end
	local is_sent, problem = socket:send(head_of(question))
	local status, found, length
	if is_sent then
		status, found, length = read_head(socket, deadline)
	end
	return status, found, length, not status and (found or problem) ~= "timeout" and socket:getreusedtimes() > 0
end

-- Status and headers; and whether the connection can be used again.
local function talk(socket, question, wants_body)
	local deadline = ngx.now() + LIMIT_S
	local status, found, length, was_closed = send(socket, question, deadline, REPEATED[question.method] and not question.body)
	if was_closed then
		socket:close()
		status, found, length = send(socket, question, deadline, false)
	end
	if not status or not wants_body then
		return status, found, false
	end
	local is_whole, is_kept = read_body(socket, deadline, question.method, status, found, length)
	if not is_whole then
		return nil
	end
	return status, found, is_kept
end

-- Asks `question`: its pool (a name), method, host, target, headers, and body or nil. Status and headers of the answer; nil without one within the limits. Its body is thrown
-- away, and read only with `wants_body`.
function _M.ask(question, wants_body)
	local token = question.host ~= "" and not find(question.host, "[%s%c]") and under_way.enter()
	if not token then
		return nil
	end
	local socket = ngx.socket.tcp()
	local ok, status, found, is_kept = pcall(talk, socket, question, wants_body)
	under_way.leave(token)
	if not ok or not is_kept or not socket:setkeepalive(KEPT_S * 1000, KEPT_MAX) then
		socket:close()
	end
	if not ok then
		ngx.log(ngx.ERR, "sluice: a question: ", status)
		return nil
	end
	return status, found
end

-- ---- where it arrives ----

local function arguments_of(target)
	local at = find(target, "?", 1, true)
	return at and sub(target, 1, at - 1) or target, at and sub(target, at + 1) or ""
end

-- In the server that questions go to: the pool. nil: it has gone.
function _M.pool()
	return pools.get(ngx.var.http_sluice_pool or "")
end

-- In its access phase: the pool, and host and path.
function _M.receive()
	local var = ngx.var
	local pool, target = _M.pool(), var.http_sluice_target or "/"
	local path, arguments = arguments_of(target)
	if pool and (pool.proto == "h2c" or pool.proto == "h2") then
		ngx.req.set_uri(decode.plain(path), false, true)
		ngx.req.set_uri_args(arguments)
	else
		var.sluice_target = target
	end
	return pool, var.http_host or "", path
end

return _M
