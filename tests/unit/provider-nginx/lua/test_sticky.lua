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

return tests
