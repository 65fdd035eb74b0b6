-- SPDX-License-Identifier: Apache-2.0
local HEAD = "SLN1 3 0000000000000000 0000000000000001 %08x " .. ("0"):rep(32) .. "\n"

local function row(key, value)
	return "S" .. string.char(math.floor(#key / 256), #key % 256, 0, 0, math.floor(#value / 256), #value % 256) .. key .. value
end

local function load(rows)
	local text = ""
	for key, value in pairs(rows) do
		text = text .. row(key, value)
	end
	local status, problem = require("sluice.store").apply(HEAD:format(#text) .. text)
	assert(not status, problem)
	local route = require("sluice.route")
	return function(lb, host, path, is_tls)
		return route.find(route.view((is_tls and "https:" or "http:") .. lb), host, path)
	end
end

local tests = {}

function tests.hosts_exact_wildcard_and_any()
	local find = load({
		["Whost:l:a.test"] = "h1", ["Whost:l:*.test"] = "h2", ["Whost:l:*"] = "h3", ["Wdefault:l"] = "p0",
		["Ph1/"] = "p1", ["Ph2/"] = "p2", ["Wh3/only"] = "p3",
	})
	for _, case in ipairs({
		{ "a.test", "/", "p1" }, { "b.test", "/", "p2" }, { "b.c.test", "/only", "p3" }, { "", "/only", "p3" }, { "x", "/", "p0" }, { ".test", "/", "p0" },
	}) do
		assert(find("l", case[1], case[2], false) == case[3], case[1])
	end
	assert(find("other", "a.test", "/", false) == nil)
end

function tests.the_longest_prefix_of_whole_elements_wins()
	local find = load({ ["Whost:l:a"] = "h1", ["Ph1/"] = "root", ["Ph1/a/"] = "a", ["Ph1/a/b/c/"] = "abc", ["Wh1/a/b"] = "exact" })
	for path, pool in pairs({
		["/"] = "root", ["/a"] = "a", ["/a/"] = "a", ["/ab"] = "root", ["/a/b"] = "exact", ["/a/b/"] = "a", ["/a/b/c"] = "abc", ["/a/b/c/d/e"] = "abc",
		["/a/b/cd"] = "a", ["//a"] = "root", ["/a/b/c" .. ("/x"):rep(8000)] = "abc", ["/" .. ("x"):rep(16000)] = "root", [("/"):rep(16000)] = "root",
	}) do
		assert(find("l", "a", path, false) == pool, path:sub(1, 50))
	end
end

function tests.a_request_costs_a_bounded_number_of_lookups()
	local deep = ("/a"):rep(64)
	local find = load({ ["Whost:l:a"] = "h1", ["Ph1" .. deep .. "/"] = "deep", ["Ph1/"] = "root" })
	local store = require("sluice.store")
	local dict, count, bytes = ngx.shared.sluice, 0, 0
	local get = dict.get
	function dict.get(self, key)
		count, bytes = count + 1, bytes + #key
		return get(self, key)
	end
	assert(find("l", "a", ("/b"):rep(8000), false) == "root")
	assert(count < 80, count)
	assert(bytes < 80 * store.longest(), bytes)
	assert(find("l", "a", deep, false) == "deep")
end

function tests.rows_of_a_version_that_noted_no_length_are_found()
	local dict = ngx.shared.sluice
	dict:set("!serial", "0000000000000001")
	dict:set("Whost:l:a", "h1")
	dict:set("Ph1/", "root")
	require("sluice.store").init("/nowhere")
	local route = require("sluice.route")
	assert(route.find(route.view("http:l"), "a", "/x") == "root")
end

return tests
