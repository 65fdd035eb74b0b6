-- SPDX-License-Identifier: Apache-2.0
-- What rows of routes, policies and users say, without an nginx: trees, networks, paths, pieces, regular expressions, hashes, limits.
local tests = {}

function tests.trees_come_back_as_they_were()
	local parse = require("sluice.tree").parse
	local list = parse("((a,b%2C%28%29),(),(c,,d),x,(e,(f,())))")
	assert(#list == 5 and list[1][1] == "a" and list[1][2] == "b,()" and #list[2] == 0 and #list[3] == 3 and list[3][2] == "" and list[4] == "x")
	assert(list[5][2][1] == "f" and #list[5][2][2] == 0)
	for _, bad in ipairs({ "", "a", "(", ")", "(a", "(a))", "(a)(b)", "a(b)", "(a(b))", ("("):rep(40) .. (")"):rep(40) }) do
		assert(parse(bad) == nil, bad)
	end
end

function tests.networks_are_searched_by_halves()
	local networks = require("sluice.networks")
	local parse = require("sluice.tree").parse
	local list = networks.new(parse("(deny,(v4,00000000,00000000,0a000000,0affffff,c0000207,c0000207),(v6,20010db8000000000000000000000000," ..
		"20010db8ffffffffffffffffffffffff))"))
	for address, want in pairs({
		["\0\0\0\0"] = true, ["\0\0\0\1"] = false, ["\9\255\255\255"] = false, ["\10\0\0\0"] = true, ["\10\255\255\255"] = true, ["\11\0\0\0"] = false,
		["\192\0\2\7"] = true, ["\192\0\2\8"] = false, ["\255\255\255\255"] = false, ["\32\1\13\184" .. ("\0"):rep(12)] = true,
		["\32\1\13\185" .. ("\0"):rep(12)] = false,
	}) do
		assert(networks.have(list, address) == want, #address .. ":" .. address:byte(1))
	end
	assert(networks.address(("\0"):rep(10) .. "\255\255\10\1\2\3") == "\10\1\2\3")
	assert(networks.new(nil) == nil)
	assert(not networks.have(networks.new({ "allow" }), "\10\0\0\1"))
end

function tests.paths_are_decoded_once()
	local decode = require("sluice.decode")
	for path, want in pairs({
		["/"] = "/", ["/a"] = "/a", ["/a//b"] = "/a/b", ["/a/./b/"] = "/a/b/", ["/a/../b"] = "/b", ["/a/.."] = "/", ["/a/."] = "/a/", ["/%2e%2e"] = false,
		["/.."] = false, ["/a/../.."] = false, ["/%00"] = false, ["/%"] = false, ["/%4"] = false, ["/%zz"] = false, ["/%2541"] = "/%41", ["/a%2fb"] = "/a/b",
		["/a/%2e%2e/c"] = "/c", ["/.a/..b"] = "/.a/..b", ["/a%20b"] = "/a b", ["//"] = "/", ["/a/b/.."] = "/a/",
	}) do
		assert((decode.path(path) or false) == want, path)
	end
	assert(decode.encode("/a b%\127\200") == "/a%20b%25%7F\200")
	assert(decode.argument("a+b%20%2b%zz") == "a b +%zz")
end

local function asked(fields)
	fields = fields or {}
	fields.view, fields.groups, fields.rest = fields.view or { is_tls = false }, fields.groups or {}, fields.rest or ""
	return fields
end

function tests.values_with_control_characters_are_left_out()
	ngx.var = {}
	local pieces = require("sluice.pieces")
	local text = pieces.new({ "x", { "text", "a" }, { "group", "1" }, { "group", "2" }, { "scheme" }, { "path_rest" } }, 2)
	assert(text(asked({ groups = { "b\nc", "d" }, rest = "/e" })) == "adhttp/e")
	assert(text(asked({ view = { is_tls = true } })) == "ahttps")
	local short = pieces.new({ "x", { "text", "a" }, { "group", "1" }, { "group", "2" } }, 2)
	for _, bad in ipairs({ "\0", "b\0", "b\1c", "\31", "b\127" }) do
		assert(short(asked({ groups = { bad, "d\200 %" } })) == "ad\200 %", #bad)
	end
	assert(pieces.to_path("/azAZ09%-._~!$&'()*+,;=:@") == "/azAZ09%-._~!$&'()*+,;=:@" and pieces.to_path("/a[\0b`") == "/a%5B%00b%60")
	assert(pieces.to_path("x y?#%41\200") == "/x%20y%3F%23%41%C8")
	assert(pieces.to_path("") == "/")
	assert(text(asked({ groups = { nil, "%" }, is_decoded = true }), true) == "a%25http")
end

function tests.headers_cookies_and_arguments()
	local of = require("sluice.asked")
	local one = asked({ headers = { cookie = { "a=1;  b = 2 ", "c=3; b=4;bad; =x" }, ["x-a"] = { "p", "q" } }, header = "h:1", arguments = "?a=1&b+c=%20&d&a=2" })
	assert(of.cookie(one, "a") == "1" and of.cookie(one, "c") == "3" and of.cookie(one, "b") == "4" and of.cookie(one, "bad") == nil)
	assert(of.cookie(one, "b ") == " 2")
	assert(of.header(one, "x-a") == "p, q" and of.header(one, "host") == "h:1" and of.header(one, "x-b") == nil)
	assert(of.argument(one, "a") == "1" and of.argument(one, "b c") == "%20" and of.argument(one, "d") == "" and of.argument(one, "e") == nil)
end

function tests.regular_expressions_have_groups_and_a_limit()
	local regex = require("sluice.regex")
	local groups = regex.search(regex.compile("^/(a)(b)?(c)"), "/acd")
	assert(groups[0] == "/ac" and groups[1] == "a" and groups[2] == nil and groups[3] == "c")
	assert(regex.search(regex.compile("^/x"), "/y") == nil)
	assert(regex.compile("(") == nil)
	assert(regex.search(regex.compile("^(a|aa)+$"), ("a"):rep(60) .. "b") == regex.LIMIT)
end

-- Of "password", by other programs.
local HASHES = {
	"{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "$apr1$saltsalt$yAAkm4libquA.ZWLHbSBq/", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/",
	"$5$saltsalt$gOjOtoMpVhru2uyjeJSEc/JaLQWOXMNmlOnj6T4AtC.",
	"{SSHA}rXVtWiPAY6/w8MuTLKIjpBjj2mtzYWx0MTIzNA==", "$2y$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu",
	"$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/",
}

function tests.passwords_fit_their_hashes()
	local fits = require("sluice.hashes").fits
	for _, hash in ipairs(HASHES) do
		assert(fits("password", hash), hash)
		assert(not fits("Password", hash), hash)
		assert(not fits("password\0", hash), hash)
	end
	for _, hash in ipairs({ "", "password", "$apr1$", "$apr1$saltsalt$", "{SHA}", "{SSHA}", "{SSHA}AAAA", "$6$rounds=999999999$x$y", "$2y$31$x", "$9$x$y", "*0", "$1$" }) do
		assert(not fits("password", hash), hash)
	end
end

function tests.buckets_run_out_evenly()
	local limits = require("sluice.limits")
	local standin = require("standin")
	local limit = { { requests = 2, interval_s = 10, burst = 2 } }
	local function come()
		return (limits.enter("y", limit, "c"))
	end
	assert(come() and come() and come() and not come())
	assert((limits.enter("y", limit, "other")))
	standin.now = standin.now + 5
	assert(come() and not come())
	standin.now = standin.now + 4.9
	assert(not come())
	standin.now = standin.now + 0.1
	assert(come() and not come())
	standin.now = standin.now + 1000
	assert(come() and come() and come() and not come())
end

function tests.all_limits_have_to_hold()
	local limits = require("sluice.limits")
	local both = { { requests = 1, interval_s = 1, burst = 9 }, { requests = 1, interval_s = 3600, burst = 1 }, concurrent = 2 }
	local first, held = limits.enter("y", both, "c")
	local second, other = limits.enter("y", both, "c")
	assert(first and second and not limits.enter("y", both, "c"))
	limits.release(held)
	assert(not limits.enter("y", both, "c"), "the slow one is full")
	limits.release(other)
	local faster = { { requests = 1000, interval_s = 1, burst = 1 }, { requests = 1000, interval_s = 1, burst = 1 } }
	require("standin").now = require("standin").now + 0.01
	assert((limits.enter("y", faster, "c")), "who was slower once need not wait for it")
end

return tests
