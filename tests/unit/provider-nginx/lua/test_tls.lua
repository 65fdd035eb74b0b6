-- SPDX-License-Identifier: Apache-2.0
local tests = {}

-- The texts of the pairs that are parsed now, and how often any was.
local function fake_tls(rows)
	local live, seen = { count = 0, parses = 0 }, {}
	local real = package.loaded.ffi
	local function made(kind)
		return function(pem)
			if pem:find("broken", 1, true) then
				return nil, "it is broken"
			end
			live.count, live.parses = live.count + 1, live.parses + 1
			return { kind = kind, pem = pem }
		end
	end
	local function freed(kind)
		return function(thing)
			assert(thing.kind == kind and not thing.is_free, "freed twice, or as something else")
			thing.is_free, live.count = true, live.count - 1
		end
	end
	local function shown(thing)
		assert(not thing.is_free, "shown after it was freed")
		seen[#seen + 1] = thing.pem
		return true
	end
	package.loaded["sluice.clients"] = { ask = function() return true end }
	package.loaded["sluice.handshakes"] = { choose = function() return true end }
	package.loaded["ngx.ssl"] = {
		parse_pem_cert = made("chain"), parse_pem_priv_key = made("key"), set_cert = shown, set_priv_key = shown,
		clear_certs = function() end, server_name = function() return live.name end,
	}
	package.loaded.ffi = {
		gc = function(thing) return thing end,
		C = { ngx_http_lua_ffi_free_cert = freed("chain"), ngx_http_lua_ffi_free_priv_key = freed("key") },
	}
	ngx.md5_bin = function(text) return text end
	for key, value in pairs(rows) do
		ngx.shared.sluice:set(key, value)
	end
	local tls = require("sluice.tls")
	package.loaded.ffi = real
	return tls, live, function(name)
		live.name = name
		seen[1], seen[2] = nil, nil
		tls.choose("lb", 443)
		return seen[1], seen[2]
	end
end

local function pair_of(chain, key)
	chain, key = "-----BEGIN CERTIFICATE-----" .. chain, "-----BEGIN PRIVATE KEY-----" .. key
	return #chain .. "\n" .. chain .. key, chain, key
end

function tests.a_pair_is_parsed_once_and_anew_when_it_is_renewed()
	local old, old_chain, old_key = pair_of("one", "first")
	local new, new_chain, new_key = pair_of("one", "second")
	local _, live, shake = fake_tls({ ["Osni:a.test"] = "one", ["Ocert:one"] = old })
	for _ = 1, 3 do
		local chain, key = shake("A.test")
		assert(chain == old_chain and key == old_key)
	end
	assert(live.parses == 2 and live.count == 2)
	ngx.shared.sluice:set("Ocert:one", new)
	local chain, key = shake("a.test")
	assert(chain == new_chain and key == new_key)
	assert(live.parses == 4 and live.count == 2, "the one before it is freed")
end

function tests.a_broken_one_leaves_the_others_alone()
	local good, good_chain = pair_of("good", "key")
	local default, default_chain = pair_of("default", "key")
	local _, _, shake = fake_tls({
		["Osni:good.test"] = "good", ["Ocert:good"] = good, ["Osni:bad.test"] = "bad", ["Ocert:bad"] = pair_of("broken", "key"),
		["Odefault:lb:443"] = "default", ["Ocert:default"] = default,
	})
	for _ = 1, 2 do
		assert(shake("bad.test") == default_chain)
		assert(shake("good.test") == good_chain)
	end
end

function tests.no_more_is_kept_than_there_is_room_for()
	local rows, chains = {}, {}
	local count = 40
	local tls, live, shake = fake_tls(rows)
	for i = 1, count do
		-- Of so many certificates that no more than 16 such chains fit.
		local text, chain = pair_of(("-----BEGIN CERTIFICATE-----"):rep(tls.CACHE_BYTES_MAX / 5120 / 16) .. i, "key")
		ngx.shared.sluice:set("Osni:" .. i .. ".test", "c" .. i)
		ngx.shared.sluice:set("Ocert:c" .. i, text)
		chains[i] = chain
	end
	for _ = 1, 2 do
		for i = 1, count do
			assert(shake(i .. ".test") == chains[i])
			assert(live.count <= 2 * 16)
		end
	end
	assert(live.count >= 2 * 8 and live.parses < 4 * count, "some of them were there the second time")
end

return tests
