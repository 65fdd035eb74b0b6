-- SPDX-License-Identifier: Apache-2.0
local trace = require("sluice.trace")

local ID, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

local tests = {}

function tests.valid_ones()
	for _, text in ipairs({
		"00-" .. ID .. "-" .. PARENT .. "-01", "00-" .. ID .. "-" .. PARENT .. "-ff", "01-" .. ID .. "-" .. PARENT .. "-00",
		"cc-" .. ID .. "-" .. PARENT .. "-01-what.the=future;has", "cc-" .. ID .. "-" .. PARENT .. "-01-",
		"01-" .. ID .. "-" .. PARENT .. "-00-" .. ("x"):rep(512 - 56),
	}) do
		assert(trace.read(text) == ID, text)
	end
end

function tests.invalid_ones()
	for _, text in ipairs({
		"", "00", "x", "00-" .. ID .. "-" .. PARENT, "00-" .. ID .. "-" .. PARENT .. "-0", "00-" .. ID .. "-" .. PARENT .. "-011",
		"00-" .. ID .. "-" .. PARENT .. "-01-more", "ff-" .. ID .. "-" .. PARENT .. "-01", "0-" .. ID .. "-" .. PARENT .. "-01x",
		"00-" .. ID:upper() .. "-" .. PARENT .. "-01", "00-" .. ID .. "-" .. PARENT:upper() .. "-01", "00-" .. ID .. "-" .. PARENT .. "-0G",
		"00-" .. ("0"):rep(32) .. "-" .. PARENT .. "-01", "00-" .. ID .. "-" .. ("0"):rep(16) .. "-01",
		"00-" .. ID .. "a-" .. PARENT:sub(2) .. "-01", "00_" .. ID .. "_" .. PARENT .. "_01", " 00-" .. ID .. "-" .. PARENT .. "-01",
		"01-" .. ID .. "-" .. PARENT .. "-01x", "01-" .. ID .. "-" .. PARENT .. "-01- x", "01-" .. ID .. "-" .. PARENT .. "-01-\255",
		"01-" .. ID .. "-" .. PARENT .. "-01-\0", "01-" .. ID .. "-" .. PARENT .. "-00-" .. ("x"):rep(512 - 55), ("0"):rep(100000),
	}) do
		assert(trace.read(text) == nil, text)
	end
end

return tests
