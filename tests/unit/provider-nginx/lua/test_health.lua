-- SPDX-License-Identifier: Apache-2.0
local standin = require("standin")

-- A backend that sends these pieces, one a second, and then nothing more.
local function backend(pieces)
	local socket = { asked = 0, got = 0 }
	function socket.settimeouts() end
	function socket.settimeout(self, ms) self.timeout = ms / 1000 end
	function socket.connect() return true end
	function socket.send() return true end
	function socket.close() return true end
	function socket.receiveany(self, most)
		self.asked = self.asked + 1
		local piece = table.remove(pieces, 1)
		standin.now = standin.now + math.min(1, self.timeout)
		if not piece or self.timeout < 1 then
			return nil, "timeout"
		end
		piece = piece:sub(1, most)
		self.got = self.got + #piece
		return piece
	end
	return socket
end

local function is_down_after(pieces)
	local key = "Opool:p"
	ngx.shared.sluice:set(key, "proto http\ncheck http 1000 5000 1 1 0 /\ne a 1 10.0.0.1 80\n")
	ngx.shared.sluice:set("Ochecked", "p")
	standin.socket = backend(pieces)
	require("sluice.health").start()
	standin.timers[1](false)
	return ngx.shared.sluice_health:get("p 10.0.0.1 80") == 0, standin.socket
end

local tests = {}

function tests.a_status_of_two_or_three_hundred_is_well()
	for status, is_down in pairs({ ["200"] = false, ["204"] = false, ["302"] = false, ["404"] = true, ["500"] = true, ["100"] = true, ["abc"] = true }) do
		standin.reset()
		assert(is_down_after({ "HTTP/1.1 " .. status .. " OK\r\n\r\n" }) == is_down, status)
	end
end

function tests.an_answer_may_come_in_pieces()
	assert(not is_down_after({ "HTTP", "/1.0 ", "2", "00 OK\r\n" }))
end

function tests.no_more_is_read_than_a_status()
	local is_down, socket = is_down_after({ "HTTP/1.1 200 " .. ("x"):rep(1000000) })
	assert(not is_down and socket.got == 12, socket.got)
end

function tests.a_drip_has_the_time_of_one_answer()
	local pieces = {}
	for c in ("HTTP/1.1 200"):gmatch(".") do
		pieces[#pieces + 1] = c
	end
	local is_down, socket = is_down_after(pieces)
	assert(is_down and socket.asked <= 6, socket.asked)
end

-- Pools of as many namespaces, each with so many endpoints whose checks end when the test says so. Returns the checks that are under way, by namespace.
local function with_pools(counts)
	standin.reset()
	local checked, under_way = {}, {}
	for space, count in ipairs(counts) do
		local text = { "proto http\ncheck tcp 1000 60000 1 1 0 /\n" }
		for i = 1, count do
			text[#text + 1] = ("e a %x 10.%d.%d.%d 80\n"):format(i, space, math.floor(i / 250), i % 250)
		end
		ngx.shared.sluice:set("Opool:p" .. space, table.concat(text))
		checked[#checked + 1] = ("=%d p%d"):format(space, space)
		under_way[space] = {}
	end
	ngx.shared.sluice:set("Ochecked", table.concat(checked, " "))
	standin.socket = backend({})
	standin.socket.connect = coroutine.yield
	ngx.timer.at = function(_, call, ...)
		local peer = select(2, ...)
		local space = tonumber(peer.ip:match("^10%.(%d+)"))
		local check = coroutine.wrap(call)
		check(false, ...) -- until it waits for its backend
		table.insert(under_way[space], { ip = peer.ip, finish = function() check(true) end })
		return true
	end
	require("sluice.health").start()
	return under_way
end

function tests.one_namespace_leaves_room_for_the_next()
	local under_way = with_pools({ 5000 })
	standin.timers[1](false)
	standin.timers[1](false)
	assert(#under_way[1] == 128, #under_way[1])
end

function tests.namespaces_have_equal_shares()
	local under_way = with_pools({ 5000, 3, 5000 })
	standin.timers[1](false)
	assert(#under_way[1] == 64 and #under_way[2] == 3 and #under_way[3] == 64)
	-- Whoever is done is asked again when it is due, however late the others are.
	for _, check in ipairs(under_way[2]) do
		check.finish()
	end
	standin.now = standin.now + 1
	standin.timers[1](false)
	assert(#under_way[1] == 64 and #under_way[2] == 6 and #under_way[3] == 64)
end

function tests.each_endpoint_has_its_turn()
	local under_way = with_pools({ 1000 })
	local asked, count = {}, 0
	for _ = 1, 16 do
		standin.timers[1](false)
		for _, check in ipairs(under_way[1]) do
			count = count + (asked[check.ip] and 0 or 1)
			asked[check.ip] = true
			check.finish()
		end
		under_way[1] = {}
		standin.now = standin.now + 1
	end
	assert(count == 1000, count)
end

function tests.a_namespace_with_more_than_its_share_is_told_by_its_first_pool()
	local late = function() return require("sluice.late").pools() end
	local under_way = with_pools({ 300, 3 })
	standin.timers[1](false)
	standin.now = standin.now + 0.9
	standin.timers[1](false)
	assert(late() == "", late())
	standin.now = standin.now + 0.2 -- those that wait have waited for more than a second, their interval
	standin.timers[1](false)
	assert(late() == "p1", late())
	-- The next worker that checks, after a reload, knows it at once.
	package.loaded["sluice.late"], package.loaded["sluice.health"] = nil, nil
	standin.now = standin.now + 0.1
	require("sluice.health").start()
	standin.timers[2](false)
	assert(late() == "p1", late())
	assert(#under_way[2] > 0)
end

function tests.a_namespace_that_catches_up_is_no_longer_told()
	local late = function() return require("sluice.late").pools() end
	local under_way = with_pools({ 300 })
	standin.timers[1](false)
	standin.now = standin.now + 2
	standin.timers[1](false)
	assert(late() == "p1", late())
	for _ = 1, 70 do
		for _ = 1, 3 do
			local checks = under_way[1]
			under_way[1] = {}
			for _, check in ipairs(checks) do
				check.finish()
			end
			standin.timers[1](false)
		end
		standin.now = standin.now + 1
	end
	assert(late() == "", late())
end

return tests
