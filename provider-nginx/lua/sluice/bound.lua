-- SPDX-License-Identifier: Apache-2.0
-- How many of something may be under way in a worker at a time. What has not said that it has ended, because its request did, counts no longer than it could have lasted.
local _M = {}

-- `enter()` gives what `leave()` takes, or nil when there are `max`; none lasts longer than `seconds`.
function _M.new(max, seconds)
	local running, count, swept = {}, 0, 0
	local bound = {}

	local function sweep()
		local now = ngx.now()
		if now - swept < 1 then
			return
		end
		swept = now
		for token, started in pairs(running) do
			if started + seconds < now then
				running[token], count = nil, count - 1
			end
		end
	end

	function bound.enter()
		if count >= max then
			sweep()
		end
		if count >= max then
			return nil
		end
		local token = {}
		running[token], count = ngx.now(), count + 1
		return token
	end

	function bound.leave(token)
		if running[token] then
			running[token], count = nil, count - 1
		end
	end

	return bound
end

return _M
