-- SPDX-License-Identifier: Apache-2.0
-- What a backend says of itself, as it is from outside.
local tests = {}

local function policy()
	local rewrites = require("sluice.rewrites")
	return rewrites, {
		cookie_paths = rewrites.parse({ "cookie_paths", "/", "/x/", "/y", "/never" }),
		cookie_domains = rewrites.parse_domains({ "cookie_domains", ".LocalHost", ".example.org" }),
		location_changes = rewrites.parse({ "location_changes", "http://up/", "https://a.test/", "", "any:" }),
	}
end

function tests.attributes_are_found_and_nothing_else()
	local rewrites, all = policy()
	local rows = {
		{ "a=1", "a=1" }, { "a=1; Path=/y", "a=1; Path=/x/y" }, { "a=1;PATH = /", "a=1;PATH =/x/" }, { "a=1; Path=y", "a=1; Path=y" },
		{ "a=1; Path=", "a=1; Path=" }, { "a=1; Path", "a=1; Path" }, { "Path=/; a=1", "Path=/; a=1" }, { ";Path=/", ";Path=/x/" }, { "", "" },
		{ "a=1; Domain=localhost; Secure", "a=1; Domain=example.org; Secure" }, { "a=1; domain=.LOCALHOST", "a=1; domain=.example.org" },
		{ "a=1; Domain=x.localhost", "a=1; Domain=x.localhost" }, { 'a="b;Path=/"; c', 'a="b;Path=/x/"; c' }, { "a=1; Path=\"/\"", "a=1; Path=\"/\"" },
		{ "a=1; Path=/;Path=/b;", "a=1; Path=/x/;Path=/x/b;" }, { "a;;;;", "a;;;;" }, { "a=1; XPath=/; Path2=/", "a=1; XPath=/; Path2=/" },
	}
	for _, row in ipairs(rows) do
		local got = rewrites.cookie(row[1], all)
		assert(got == row[2], ("%q gives %q"):format(row[1], got))
	end
end

function tests.the_first_beginning_that_fits_counts()
	local rewrites, all = policy()
	assert(rewrites.location("http://up/b", all) == "https://a.test/b")
	assert(rewrites.location("/b", all) == "any:/b")
	assert(rewrites.refresh("5; URL=http://up/b?url=http://up/", all) == "5; URL=https://a.test/b?url=http://up/")
	assert(rewrites.refresh("5", all) == "5" and rewrites.refresh("", all) == "" and rewrites.refresh("0;url=", all) == "0;url=any:")
end

function tests.it_takes_linear_work()
	local rewrites, all = policy()
	for _, line in ipairs({ ("; "):rep(30000), "a;Path=" .. (" "):rep(60000), ("=;"):rep(30000), ";" .. (" "):rep(60000) .. "Path=/" }) do
		local steps = 0
		debug.sethook(function() steps = steps + 1 end, "", 1000)
		rewrites.cookie(line, all)
		debug.sethook()
		assert(steps < 3000, steps)
	end
end

return tests
