-- SPDX-License-Identifier: Apache-2.0
-- Which namespaces' health checks come late: one that was due has waited for a whole interval of its own. The worker that checks writes them into
-- the dictionary of all workers, so that whichever answers the provider can name them, and the next worker that checks goes on with them.
local dict = ngx.shared.sluice_health

local _M = {}

local KEY = "late"
local KEPT_S = 60 -- after the last check that was late, so that an owner is not told at each change of the wind
local NAMED_MAX = 32 -- namespaces

local late -- by namespace: its pool by which it is told, and until when; nil: this worker has not looked yet

local function load(now)
	late = {}
	for space, pool in string.gmatch(dict:get(KEY) or "", "(%S+) (%S+)") do
		late[space] = { pool = pool, until_s = now + KEPT_S }
	end
end

function _M.note(space, pool, now)
	if not late then
		load(now)
	end
	late[space] = { pool = pool, until_s = now + KEPT_S }
end

-- After all of a tick were noted.
function _M.publish(now)
	if not late then
		load(now)
	end
	local words, count = {}, 0
	for space, entry in pairs(late) do
		if entry.until_s <= now then
			late[space] = nil
		elseif count < NAMED_MAX then
			count = count + 1
			words[count] = space .. " " .. entry.pool
		end
	end
	dict:set(KEY, table.concat(words, " "))
end

-- One pool of each such namespace, with commas between them.
function _M.pools()
	local names = {}
	for _, pool in string.gmatch(dict:get(KEY) or "", "(%S+) (%S+)") do
		names[#names + 1] = pool
	end
	return table.concat(names, ",")
end

return _M
