-- SPDX-License-Identifier: Apache-2.0
-- How often and how many at a time: leaky buckets and counts of each client, in a dictionary of all workers.
--
-- A bucket is the time at which it will be empty: whoever may come puts it off by the time that one request takes to run out. Reading and writing
-- it are two steps, so each client's are under a lock of its own, which nobody holds longer than it takes to do both; one whose holder has died expires.
-- What a client is being served is counted for each worker, too, so that what a worker that has died was serving can be taken off.
local ffi = require("ffi")
local dict = ngx.shared.sluice_limits

local _M = {}

local LOCK_S = 0.1
local SPINS_MAX = 20000 -- some milliseconds; then it is counted without the lock
local SPINS_PER_LOOK = 100 -- at the clock
local SLACK = 0.001 -- of a request, for what fractions lose
local HELD = "!held" -- somebody has been counted
local OWNER = "^p:(%d+):(.*)$"

local max = math.max
local held_prefix -- of this worker

ffi.cdef "int kill(int pid, int sig);"

local function lock(key)
	local spins = 0
	while not dict:add(key, true, LOCK_S) and spins < SPINS_MAX do
		spins = spins + 1
		if spins % SPINS_PER_LOOK == 0 then
			ngx.update_time()
		end
	end
end

-- When the bucket would be empty with one request more; nil: there is no room for it.
local function fill(key, limit, now)
	local span = limit.interval_s * 1000 / limit.requests
	local empty_at = max(dict:get(key) or 0, now)
	if empty_at - now > (limit.burst + SLACK) * span then
		return nil
	end
	return empty_at + span
end

-- Another pace is another bucket: who was slower once need not wait for it.
local function name_bucket(i, limit)
	limit.bucket = i .. ":" .. limit.requests .. "/" .. limit.interval_s
	return limit.bucket
end

-- Whether the buckets from the i-th on have room; then the request is in all of them. No loop: LuaJIT compiles the way of a request around one in pieces.
local function fill_from(i, prefix, limits, now)
	local limit = limits[i]
	if not limit then
		return true
	end
	local key = prefix .. (limit.bucket or name_bucket(i, limit))
	local empty_at = fill(key, limit, now)
	if not empty_at or not fill_from(i + 1, prefix, limits, now) then
		return false
	end
	dict:set(key, empty_at, (empty_at - now) / 1000 + 1)
	return true
end

local function hold(key)
	if not held_prefix then
		held_prefix = "p:" .. ngx.worker.pid() .. ":"
		dict:set(HELD, true)
	end
	dict:incr(key, 1, 0)
	dict:incr(held_prefix .. key, 1, 0)
end

local function release_locked(key, own, count)
	local left = dict:incr(key, -count)
	if left and left <= 0 then
		dict:delete(key)
	end
	left = dict:incr(own, -count)
	if left and left <= 0 then
		dict:delete(own)
	end
end

-- Whether the client may come, by the limits of the policy of that name; and what release() has to be given once it has been served.
function _M.enter(name, limits, client)
	local prefix = name .. ":" .. client .. ":"
	local key = prefix .. "n"
	lock(prefix)
	local is_allowed = not limits.concurrent or (dict:get(key) or 0) < limits.concurrent
	is_allowed = is_allowed and fill_from(1, prefix, limits, ngx.now() * 1000)
	local held = is_allowed and limits.concurrent and prefix or nil
	if held then
		hold(key)
	end
	dict:delete(prefix)
	return is_allowed, held
end

function _M.release(prefix)
	local key = prefix .. "n"
	lock(prefix)
	release_locked(key, held_prefix .. key, 1)
	dict:delete(prefix)
end

-- When a worker begins: takes off what workers were serving that are no more.
function _M.recover()
	if not dict:get(HELD) then
		return
	end
	for _, own in ipairs(dict:get_keys(0)) do
		local pid, key = string.match(own, OWNER)
		if pid and ffi.C.kill(tonumber(pid), 0) ~= 0 then
			local prefix = string.sub(key, 1, -2)
			lock(prefix)
			release_locked(key, own, dict:get(own) or 0)
			dict:delete(prefix)
		end
	end
end

return _M
