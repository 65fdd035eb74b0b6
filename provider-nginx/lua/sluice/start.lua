-- SPDX-License-Identifier: Apache-2.0
-- In the master, before workers are made. Loads every module, so that a worker never meets a file that was replaced meanwhile.
local _M = {}

function _M.init(state_file)
	require("resty.core")
	require("sluice.store").init(state_file)
	for _, name in ipairs({ "control", "health", "request", "sticky", "tls" }) do
		require("sluice." .. name)
	end
end

return _M
