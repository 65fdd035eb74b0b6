-- SPDX-License-Identifier: Apache-2.0
-- Runs the tests of the files on the command line: luajit run.lua MODULES-FOLDER FILE... Each file returns tests by name.
local here = arg[0]:match("^(.*)/") or "."
package.path = arg[1] .. "/?.lua;" .. here .. "/?.lua;" .. package.path
local standin = require("standin")
local failed, count = 0, 0

for i = 2, #arg do
	local tests = dofile(arg[i])
	for name, test in pairs(tests) do
		standin.reset()
		math.randomseed(1) -- whatever others have drawn before
		count = count + 1
		local ok, problem = xpcall(test, debug.traceback)
		if not ok then
			failed = failed + 1
			io.stderr:write(arg[i], ": ", name, ": ", problem, "\n")
		end
	end
end
print(count .. " tests, " .. failed .. " failed")
os.exit(failed == 0 and count > 0 and 0 or 1)
