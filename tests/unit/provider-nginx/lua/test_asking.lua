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
		change("set", "A", "3"), change("add", "b", "4"), change("remove", "b"), change("add", "b", "5"), change("set", "Host", "other"), change("remove", "host"),
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

function tests.headers_that_are_copied_are_set_or_taken_away()
	local external = load("sluice.external")
	local auth = external.parse({ target = {}, copied = { "copied", "X-A", "X-B", "X-C" } }, { text = function() end, changes = function() end })
	local got = external.changes({ copied = { "1", nil, "bad\1" } }, auth)
	equal(got[1].action .. got[1].name .. got[1].value(), "setX-A1")
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

return tests
