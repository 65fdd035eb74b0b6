-- SPDX-License-Identifier: Apache-2.0
-- Which of nginx's upstreams a pool has.
local function text_of(count, proto)
	local lines = { "proto " .. (proto or "http") }
	for i = 1, count do
		lines[#lines + 1] = ("e a %x 10.0.0.%d 80"):format(i, i)
	end
	return table.concat(lines, "\n") .. "\n"
end

-- The pool once its row is this; nil: it has none.
local function change(key, text)
	ngx.shared.sluice:set("Opool:" .. key, text)
	ngx.shared.sluice:incr("!version", 2, 0)
	return require("sluice.pools").get(key)
end

-- The upstream of the pool once it has so many endpoints.
local function upstream_of(key, count, proto)
	return change(key, text_of(count, proto)).upstream
end

local tests = {}

function tests.those_asked_for_first_have_the_first_upstream()
	local first = require("sluice.pools").FIRST
	assert(upstream_of("p1", 10) == first and upstream_of("p2", 7) ~= first and upstream_of("p3", 6) == first and upstream_of("p4", 1) ~= first)
	-- What goes makes room.
	assert(change("p1", nil) == nil)
	assert(upstream_of("p5", 10) == first and upstream_of("p6", 1) ~= first)
end

function tests.one_pool_has_it_however_large_it_is()
	local first = require("sluice.pools").FIRST
	assert(upstream_of("p1", 100) == first and upstream_of("p2", 1) ~= first and upstream_of("p1", 110) == first)
end

function tests.a_pool_that_grows_makes_room_for_those_beside_it()
	local first = require("sluice.pools").FIRST
	assert(upstream_of("p1", 8) == first and upstream_of("p2", 8) == first)
	local other = upstream_of("p1", 9)
	assert(other ~= first and other:find("_http$"))
	-- Its connections are there; it does not come back.
	assert(upstream_of("p1", 1) == other and upstream_of("p3", 8) == first)
end

function tests.only_plain_http_has_it()
	local first = require("sluice.pools").FIRST
	for i, proto in ipairs({ "h2c", "https\ntls off - -" }) do
		assert(upstream_of("p" .. i, 1, proto) ~= first, proto)
	end
	assert(upstream_of("p9", 1) == first)
end

-- As nginx.conf.tmpl has them.
function tests.the_others_have_them_in_turn()
	local count, names = 0, {}
	upstream_of("p0", 100)
	for i = 1, 62 do
		local name = upstream_of("p" .. i, 1)
		count, names[name] = count + (names[name] and 0 or 1), (names[name] or 0) + 1
		assert(names[name] <= 2 and name:find("^[0-7]x?x?x?_http$"), name)
	end
	assert(count == 31)
end

return tests
