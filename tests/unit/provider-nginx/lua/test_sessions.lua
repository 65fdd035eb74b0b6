-- SPDX-License-Identifier: Apache-2.0
-- Sessions, and endpoints that are chosen by how long they take.
local tests = {}

local function text_of(count, more)
	local lines = { "proto http\nservice web 80 default\nsticky SID - -\naffinity (" .. more .. "(secure,tls))\n" }
	for i = 1, count do
		lines[#lines + 1] = ("e a %016x 10.0.0.%d 80\n"):format(i * 2654435761, i)
	end
	return table.concat(lines)
end

local function pool_of(text)
	local shared = ngx.shared.sluice
	shared:set("Opool:p", text)
	shared:set("!version", (shared:get("!version") or 0) + 2)
	return require("sluice.pools").get("p")
end

local function drawn(pool, count)
	local keys = {}
	for _ = 1, count do
		local peer, key = require("sluice.pools").pick(pool, "client", nil, nil, pool.sticky)
		keys[key] = peer.name
	end
	return keys
end

function tests.a_value_has_a_key_and_a_tag()
	local sessions = require("sluice.sessions")
	for value, want in pairs({ ["a|b"] = { "a", "b" }, a = { "a" }, ["|b"] = { nil, "b" }, [""] = {}, ["a|"] = { "a", "" }, ["a|b|c"] = { "a", "b|c" } }) do
		assert(sessions.key(value) == want[1] and sessions.tag(value) == want[2], value)
	end
	assert(sessions.tag(nil) == nil)
end

function tests.the_tag_is_that_of_the_service()
	local one, other = pool_of(text_of(1, "")), pool_of(text_of(2, "(balanced)"))
	assert(one.tag == other.tag and #one.tag == 8)
	assert(pool_of((text_of(1, ""):gsub("web", "new"))).tag ~= one.tag)
end

function tests.some_balanced_sessions_move_to_who_comes()
	local pools = require("sluice.pools")
	local pool = pool_of(text_of(4, "(balanced)"))
	local keys = drawn(pool, 2000)
	pool = pool_of(text_of(5, "(balanced)"))
	local moved, count = 0, 0
	for key, name in pairs(keys) do
		local peer, same = pools.pick(pool, "client", nil, key, pool.sticky)
		assert(same == key and (peer.name == name or peer.name == "10.0.0.5 80"))
		count, moved = count + 1, moved + (peer.name ~= name and 1 or 0)
	end
	assert(count == 2000 and moved > 200 and moved < 700, moved)
end

function tests.a_new_session_is_not_where_somebody_refused()
	local pools = require("sluice.pools")
	local pool = pool_of(text_of(3, "(balanced)"))
	local refused = pool.active[2]
	for _ = 1, 300 do
		local peer = pools.pick(pool, "client", { [refused.id] = true }, nil, pool.sticky)
		assert(peer ~= refused)
	end
	local alone = pool_of(text_of(1, "(balanced)"))
	local peer, key = pools.pick(alone, "client", { [alone.active[1].id] = true }, nil, alone.sticky)
	assert(peer == alone.active[1] and #key == 16)
end

function tests.others_last_as_long_as_their_endpoint_is_active()
	local pools = require("sluice.pools")
	local pool = pool_of(text_of(3, ""))
	for key, name in pairs(drawn(pool, 30)) do
		assert(pools.pick(pool, "client", nil, key, pool.sticky).name == name)
	end
	local key = pool.active[1].id
	pool = pool_of((text_of(3, ""):gsub("e a " .. key, "e d " .. key)))
	local peer, other = pools.pick(pool, "client", nil, key, pool.sticky)
	assert(peer.id ~= key and other == peer.id)
end

function tests.nobody_is_found_in_an_empty_pool()
	for _, more in ipairs({ "", "(balanced)" }) do
		local pool = pool_of(text_of(0, more))
		assert(require("sluice.pools").pick(pool, "client", nil, "x", pool.sticky) == nil)
	end
end

-- ---- by time ----

local function answer(address, seconds)
	require("sluice.fastest").note({ upstream_addr = "10.9.9.9:80, " .. address, upstream_connect_time = "0.001, " .. seconds / 2,
		upstream_response_time = "0.001, " .. seconds / 2 })
end

local function shares(peers, badness)
	local found = {}
	for _ = 1, 1000 do
		local name = require("sluice.fastest").choose(peers, badness or function() return 0 end).address
		found[name] = (found[name] or 0) + 1
	end
	return found
end

function tests.of_two_the_faster_one_is_taken()
	local peers = { { address = "a" }, { address = "b" }, { address = "c" } }
	answer("a", 0.2)
	answer("b", 0.1)
	answer("c", 0.4)
	local found = shares(peers)
	assert(found.c == nil and found.b > 550 and found.a > 250)
	assert(shares({ peers[3] }).c == 1000)
	-- Times count among those only who are well.
	found = shares(peers, function(peer) return peer.address == "c" and 0 or 1 end)
	assert(found.c == 1000)
end

function tests.times_are_forgotten()
	local standin = require("standin")
	local peers = { { address = "a" }, { address = "b" } }
	answer("a", 4)
	answer("b", 0.01)
	assert(shares(peers).b == 1000)
	standin.now = standin.now + 100
	answer("b", 0.01)
	assert(shares(peers).a == 1000)
end

function tests.who_comes_begins_like_the_others()
	local pool = pool_of((text_of(2, ""):gsub("sticky.-\naffinity.-\n", "algo fastest\n")))
	answer(pool.active[1].address, 0.2)
	answer(pool.active[2].address, 0.4)
	local other = pool_of((text_of(3, ""):gsub("sticky.-\naffinity.-\n", "algo fastest\n")))
	assert(other ~= pool and not other.is_plain)
	local found = shares(other.active)
	assert(found["10.0.0.2:80"] == nil and found["10.0.0.1:80"] > found["10.0.0.3:80"])
	-- What was known of one that goes is not known of who has its address next.
	pool_of((text_of(1, ""):gsub("sticky.-\naffinity.-\n", "algo fastest\n")))
	assert(ngx.shared.sluice_times:get("10.0.0.2:80") == nil and ngx.shared.sluice_times:get("10.0.0.1:80"))
end

function tests.a_request_without_an_endpoint_says_nothing()
	require("sluice.fastest").note({})
	require("sluice.fastest").note({ upstream_addr = "" })
	assert(#ngx.shared.sluice_times:get_keys() == 0)
end

return tests
