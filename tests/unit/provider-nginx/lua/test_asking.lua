-- SPDX-License-Identifier: Apache-2.0
-- What others than the backend are asked: headers of questions, their targets, what is taken from answers.
local function load(name)
	package.loaded["sluice.headers"] = { is_claim = function(header) return header == "x-real-ip" end, forwarded = function() return "" end }
	package.loaded["sluice.rules"], package.loaded["sluice.route"] = {}, {}
	return require(name)
end

local tests = {}

local function equal(got, wanted)
	assert(got == wanted, tostring(got) .. " instead of " .. tostring(wanted))
end

local function flat(list)
	local texts = {}
	for i, pair in ipairs(list) do
		texts[i] = pair[1] .. "=" .. pair[2]
	end
	table.sort(texts)
	return table.concat(texts, " ")
end

local function change(action, name, value)
	return { action = action, name = name, key = name:lower(), value = function() return value end }
end

function tests.headers_of_a_connection_or_a_body_are_not_copied()
	local question = load("sluice.question")
	local sent = {
		accept = "a", cookie = { "b", "c" }, connection = "x", upgrade = "websocket", ["content-length"] = "3", ["transfer-encoding"] = "chunked", host = "h", te = "t",
		["x-real-ip"] = "1.2.3.4", ["sluice-pool"] = "p", expect = "100-continue",
	}
	equal(flat(question.headers_of(sent, function(name) return name == "x-real-ip" end)), "accept=a cookie=b cookie=c")
end

function tests.changes_are_done_in_their_order()
	local question = load("sluice.question")
	local list, host = question.change({ { "a", "1" }, { "B", "2" } }, "h", {
		change("set", "A", "3"), change("add", "Sluice-Pool", "other"),
		change("add", "b", "4"), change("remove", "b"), change("add", "b", "5"), change("set", "Host", "other"), change("remove", "host"),
	})
	equal(flat(list), "A=3 b=5")
	equal(host, "other")
	list, host = question.change({}, "h", nil)
	equal(#list, 0)
	equal(host, "h")
end

function tests.targets_are_such_as_can_be_sent()
	local pieces = load("sluice.pieces")
	for text, wanted in pairs({
		["/a?b=c"] = "/a?b=c", ["a b"] = "/a%20b", ["/x\r\ny?q z#\"<"] = "/x%0D%0Ay?q%20z%23%22%3C", [""] = "/", ["?"] = "/?", ["/%41?[%5B]"] = "/%41?[%5B]",
	}) do
		equal(pieces.to_target(text), wanted)
	end
	equal(pieces.escape("/a?b=c d~-._é"), "%2Fa%3Fb%3Dc%20d~-._%C3%A9")
end

function tests.a_value_is_no_longer_than_a_header_may_be()
	local pieces = load("sluice.pieces")
	local asked = { headers = { x = ("a"):rep(10000) } }
	local header, dash = { "header", "X" }, { "text", "-" }
	for _, list in ipairs({ { header, dash, header }, { header, dash, header, header, header } }) do
		equal(pieces.new(list, 1)(asked), ("a"):rep(10000) .. "-")
	end
end

function tests.headers_that_are_copied_are_set_or_taken_away()
	local external = load("sluice.external")
	local auth = external.parse({ target = {}, copied = { "copied", "X-A", "X-B", "X-C" } }, { text = function() end, changes = function() end })
	local asked = { copied = { "1", nil, "bad\1" } }
	local got = external.changes(asked, auth)
	equal(got[1].action .. got[1].name .. got[1].value(asked), "setX-A1")
	equal(got[2].action .. got[3].action, "removeremove")
	for _, each in ipairs(external.changes({}, auth)) do
		equal(each.action, "remove")
	end
end

function tests.what_never_ends_counts_for_a_time()
	local now = 100
	local real = ngx.now
	ngx.now = function() return now end
	local bound = load("sluice.bound").new(2, 10)
	local first, second = bound.enter(), bound.enter()
	assert(first and second and not bound.enter())
	bound.leave(first)
	bound.leave(first)
	assert(bound.enter() and not bound.enter())
	now = 111
	assert(bound.enter() and bound.enter() and not bound.enter())
	bound.leave(second)
	assert(not bound.enter())
	ngx.now = real
end

-- A connection that says these pieces, one for each time that it is read, lines up to an empty one, and was used so often before; what became of it stands in it.
local function connection(uses, pieces)
	local socket = { pools = {}, closed = 0, kept = 0, sent = 0 }
	function socket.settimeouts() end
	function socket.settimeout() end
	function socket.connect(self, _, options)
		self.pools[#self.pools + 1] = options.pool or "kept"
		return true
	end
	function socket.getreusedtimes(self) return self.pools[#self.pools] == "kept" and uses or 0 end
	function socket.send(self)
		self.sent = self.sent + 1
		return true
	end
	local is_line = true
	function socket.receiveany()
		local piece = table.remove(pieces, 1)
		is_line = is_line and piece and not piece:find("\r\n\r\n", 1, true)
		local text = is_line and piece .. "\r\n" or piece
		is_line = is_line and piece ~= ""
		return text, piece == nil and "closed" or nil
	end
	function socket.close(self) self.closed = self.closed + 1 end
	function socket.setkeepalive(self)
		self.kept = self.kept + 1
		return true
	end
	return socket
end

local function ask(uses, pieces, method, body)
	local question, standin = load("sluice.question"), require("standin")
	question.path = "/nowhere"
	standin.socket = connection(uses, pieces)
	local status = question.ask({ pool = "p", method = method or "GET", host = "h", target = "/", headers = {}, body = body }, true)
	return status, standin.socket
end

function tests.a_connection_is_used_again_if_its_answer_has_an_end()
	local alive, ended = "Connection: keep-alive", "Connection: close"
	for _, case in ipairs({
		{ 1, 0, 200, "HTTP/1.1 200 OK", alive, "Content-Length: 3", "", "abc" },
		{ 1, 0, 403, "HTTP/1.1 403 No", alive, "Content-Length: 0", "" },
		{ 1, 0, 204, "HTTP/1.1 204 None", alive, "" },
		{ 0, 1, 200, "HTTP/1.1 200 OK", alive, "Content-Length: 3", "" },
		{ 0, 1, 200, "HTTP/1.1 200 OK", alive, "", "abc" },
		{ 0, 1, 200, "HTTP/1.1 200 OK", ended, "Content-Length: 3", "", "abc" },
		{ 0, 1, nil, "HTTP/1.1 200 OK", alive, "Content-Length: 65537", "", "abc" },
		{ 0, 1, nil, "HTTP/1.1 200 OK", alive },
		{ 1, 0, 200, "HTTP/1.1 200 OK\r\n" .. alive .. "\r\nContent-Length: 3\r\n\r\nab", "c" },
		{ 1, 0, 200, "HTTP/1.1 200 OK\r\n" .. alive .. "\r\nContent-Length: 1\r\n\r\na" },
		{ 0, 1, 200, "HTTP/1.1 200 OK\r\n" .. alive .. "\r\nContent-Length: 1\r\n\r\nabc" },
		{ 0, 1, 204, "HTTP/1.1 204 OK\r\n" .. alive .. "\r\n\r\nabc" },
		{ 0, 1, nil, "HTTP/1.1 200 OK", "", ("x"):rep(65537) },
		{ 0, 1, nil, "HTTP/1.1 200 OK", "A: " .. ("x"):rep(40000), "" },
		{ 0, 1, nil, "SSH-2.0-200 OK", alive, "" },
	}) do
		local status, socket = ask(0, { unpack(case, 4, 9) })
		equal(status or 0, case[3] or 0)
		equal(socket.kept .. " " .. socket.closed, case[1] .. " " .. case[2])
	end
end

function tests.headers_of_an_answer_are_found_line_by_line()
	local question, standin = load("sluice.question"), require("standin")
	question.path = "/nowhere"
	standin.socket = connection(0, { "HTTP/1.1 401 No", "Set-Cookie: a=b: c", "set-cookie:d", "No colon", "Empty:", "X-A:  \tb ", "" })
	local status, found = question.ask({ pool = "p", method = "GET", host = "h", target = "/", headers = {} }, true)
	equal(status, 401)
	equal(table.concat(found["set-cookie"], "|"), "a=b: c|d")
	equal(found["empty"][1] .. "|" .. found["x-a"][1], "| \tb ")
end

function tests.what_may_be_sent_twice_is_when_a_kept_connection_has_ended()
	local status, socket = ask(1, {})
	assert(status == nil and socket.sent == 2 and table.concat(socket.pools, " ") == "kept sluice_alone")
	status, socket = ask(0, {})
	assert(status == nil and socket.sent == 1, "a new one has not ended of itself")
	for _, method in ipairs({ "POST", "PUT" }) do
		status, socket = ask(1, {}, method, "abc")
		assert(status == nil and socket.sent == 1 and socket.pools[1] == "sluice_alone", method)
	end
end

return tests
