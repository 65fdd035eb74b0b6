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

return tests
