-- SPDX-License-Identifier: Apache-2.0
-- In the master, before workers are made. Loads every module, so that a worker never meets a file that was replaced meanwhile.
local _M = {}

-- `questions`: where question.lua asks. `access_log`: off, text or json; `ingresses`: how many are counted.
function _M.init(state_file, questions, access_log, ingresses, trace)
	require("resty.core")
	-- A request with a policy is one long way through many functions: with its own limits LuaJIT would leave the whole of it to the interpreter.
	require("jit.opt").start("maxtrace=4000", "maxrecord=20000", "maxirconst=4000", "maxsnap=4000", "sizemcode=256", "maxmcode=8192",
		"loopunroll=60", "instunroll=30", "callunroll=10")
	require("sluice.store").init(state_file)
	require("sluice.access_log").init(access_log, ingresses)
	require("sluice.trace").init(trace == "sample")
	for _, name in ipairs({ "control", "hashes", "health", "limits", "request", "response", "tls" }) do
		require("sluice." .. name)
	end
	-- What each request calls is at hand without a call of require().
	sluice_request, sluice_response, sluice_trace = require("sluice.request"), require("sluice.response"), require("sluice.trace")
	sluice_claims = require("sluice.claims")
	require("sluice.question").path = questions
	return _M.add_location
end

-- What has locations here: words that `tls` lines of pools may have, beside off, or of ways.lua, which begin with `_`. One at a time: nginx reads no longer texts.
function _M.add_location(name)
	local known = string.sub(name, 1, 1) == "_" and require("sluice.ways").known or require("sluice.pools").trusts
	known[name] = true
	return _M.add_location
end

return _M
