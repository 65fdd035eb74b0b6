-- SPDX-License-Identifier: Apache-2.0
local sticky = require("sluice.sticky")

local tests = {}

function tests.the_cookie_is_found_and_taken_out()
	local rows = { -- header, value, rest
		{ "sid=a", "a", nil }, { "a=1; sid=x; c=2", "x", "a=1; c=2" }, { "a=1; sid=x", "x", "a=1" }, { "sid=x; a=1", "x", "a=1" },
		{ "sid=x;a=1", "x", "a=1" }, { "  sid=x ; a=1", "x", "a=1" }, { "sid=", "", nil }, { "sid=a;sid=b;c=d", "a", "c=d" },
		{ "xsid=1", nil, "xsid=1" }, { "a=sid=1", nil, "a=sid=1" }, { "a=b sid=1", nil, "a=b sid=1" }, { "sid", nil, "sid" }, { "sid =a", nil, "sid =a" },
		{ "SID=a", nil, "SID=a" }, { "", nil, "" }, { "xsid=1; sid=2", "2", "xsid=1" }, { "sid=a=b", "a=b", nil }, { "sid=a b", "a", nil },
		{ ("sid=a;"):rep(9), "a", "sid=a;" },
	}
	for _, row in ipairs(rows) do
		local value, rest = sticky.split(row[1], "sid")
		assert(value == row[2] and rest == row[3], ("%q gives %s and %s"):format(row[1], tostring(value), tostring(rest)))
	end
end

function tests.a_name_is_no_pattern()
	assert(sticky.split("axb=1", "a.b") == nil)
	assert(sticky.split("a.b=1", "a.b") == "1")
	assert(sticky.split("a-b=1", "a-b") == "1")
end

function tests.browsers_that_do_not_know_none_get_none()
	local agents = {
		["Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/51.0.2704.103 Safari/537.36"] = false, ["Chrome/66.0"] = false, ["Chrome/120.0.0.0"] = true,
		["Mozilla/5.0 (iPhone; CPU iPhone OS 12_4 like Mac OS X)"] = false, ["Mozilla/5.0 (iPad; CPU OS 12_4 like Mac OS X)"] = false,
		["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605 Version/12.1.2 Safari/605"] = false,
		["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537 Chrome/90.0 Safari/537"] = true,
		["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 Version/16 Safari/605"] = true, [""] = true,
	}
	for agent, has in pairs(agents) do
		local known = { name = "n", affinity = { path = "/", secure = "tls", same_site = "None", same_site_known = true } }
		local cookie = sticky.cookie_with(known, "1", true, agent)
		assert(cookie == "n=1; Path=/; Secure; HttpOnly" .. (has and "; SameSite=None" or ""), agent)
		known.affinity.same_site = "Lax"
		assert(sticky.cookie_with(known, "1", false, agent) == "n=1; Path=/; HttpOnly; SameSite=Lax")
	end
end

return tests
