-- SPDX-License-Identifier: Apache-2.0
local uri = require("sluice.uri")

local function check(call, rows)
	for _, row in ipairs(rows) do
		local got = call(row[1])
		assert(got == row[2], ("%q gives %s, not %s"):format(row[1], tostring(got), tostring(row[2])))
	end
end

local tests = {}

function tests.hosts_are_split_from_ports()
	check(uri.split_host, {
		{ "a.test", "a.test" }, { "a.test:80", "a.test" }, { "a.test:", "a.test" }, { "", "" }, { ":80", "" }, { "123:45", "123" },
		{ "a_b-c.", "a_b-c." }, { "[::1]", "[::1]" }, { "[::1]:443", "[::1]" }, { "a:65535", "a" },
		{ "a:65536" }, { "a:000080" }, { "a:8x" }, { "a:80:80" }, { "a/b" }, { "u@a" }, { "a b" }, { "a\0b" }, { "[::1" }, { "[]" }, { "[::1]x" }, { "*" },
		{ ("a"):rep(260), ("a"):rep(260) }, { ("a"):rep(261) }, { ("1"):rep(20000) .. "!" },
	})
end

function tests.names_are_lower_case_without_one_dot()
	check(uri.normal_name, { { "A.Test", "a.test" }, { "a.test.", "a.test" }, { "a..", "a." }, { ".", "" }, { "", "" } })
end

function tests.parents_begin_at_the_first_dot()
	check(uri.parent_of, { { "a.b.c", ".b.c" }, { "a.b", ".b" }, { "a" }, { ".a" }, { "a." }, { "" }, { "." } })
end

function tests.paths_are_as_sent()
	check(uri.path_of, {
		{ "/", "/" }, { "/a?b?c", "/a" }, { "/a//b/./../%2f", "/a//b/./../%2f" }, { "/?/", "/" }, { "//a", "//a" },
		{ "http://a", "/" }, { "http://a/b?c", "/b" }, { "http://a?b/c", "/" }, { "h+t-t.p1://a/b", "/b" }, { "/a://b", "/a://b" },
		{ "" }, { "a" }, { "*" }, { "?" }, { "://a/b" }, { "1http://a/" }, { "/a#b" }, { "/a b" }, { "/\0" }, { "/\127" }, { "/\195\188" }, { "/a?b\t" },
	})
end

return tests
