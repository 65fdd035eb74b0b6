-- SPDX-License-Identifier: Apache-2.0
-- Which location a backend is asked by beyond its protocol (provider-nginx/ways.h), and whether another endpoint is asked when one has failed. nginx decides by the
-- directives of the location whether that is possible; here it is decided whether it is wanted.
local balancer = require("ngx.balancer")

local _M = { known = {} } -- names of those that this nginx has

local find, match, sub, format = string.find, string.match, string.sub, string.format
local min = math.min
local TRIES_MAX = 3 -- without a policy that says how many
local TRIES_ANY_MAX = 100 -- with one that says any number
local BUFFERED_MAX = 256 -- answers at a time that a worker may write to the disk
local IDEMPOTENT = { GET = true, HEAD = true, OPTIONS = true, TRACE = true, PUT = true, DELETE = true }
local buffered = 0

-- Of a parsed policy, nil: there is none. `usual` is for requests that may be sent again, `once` for the others.
function _M.new(retries, buffering)
	local tail = buffering and buffering.response and "_b" or ""
	if not retries or not retries.statuses then
		return tail ~= "" and { usual = tail, once = tail, has_buffer = true } or nil
	end
	local usual = format("_r%02x", retries.statuses)
	return {
		usual = usual .. tail, once = retries.unsafe and usual .. tail or tail, has_buffer = tail ~= "",
		usual_unbuffered = usual, once_unbuffered = retries.unsafe and usual or "",
	}
end

-- The location for a request whose protocol has this one. ctx() counts it if its answer may go to the disk.
function _M.location_of(asked, location)
	local way = asked.policy and asked.policy.way
	if not way then
		return location
	end
	local is_usual = way.usual == way.once or IDEMPOTENT[ngx.var.request_method]
	local name = is_usual and way.usual or way.once
	if way.has_buffer and buffered >= BUFFERED_MAX then
		name = (is_usual and way.usual_unbuffered or way.once_unbuffered) or ""
	end
	-- One that is wanted since a moment ago comes with a reload.
	if not _M.known[name] then
		return location
	end
	asked.is_buffered = sub(name, -2) == "_b"
	if asked.is_buffered then
		buffered = buffered + 1
	end
	asked.has_way = find(name, "_r", 1, true) ~= nil
	return location .. name
end

-- Once for each that location_of() has been asked for.
function _M.release(asked)
	if asked.is_buffered then
		asked.is_buffered = false
		buffered = buffered - 1
	end
end

-- How many endpoints of so many may be asked in all.
function _M.tries(retries, count)
	if not retries then
		return min(TRIES_MAX, count)
	end
	return retries.is_any and min(retries.tries or TRIES_ANY_MAX, count) or 1
end

-- Of the last try, in a list of nginx's of all. The one that begins has a place in it, but no value yet.
local function last_of(name)
	return match(sub(ngx.var[name] or "", -64), "([^,: ]+)[,: ]*$")
end

local function is_cause(retries, asked, status)
	if status == 504 then
		return retries.on_timeout
	end
	if last_of("upstream_bytes_received") ~= "0" then
		return retries.on_invalid or (retries.on_error and not asked.has_way)
	end
	return retries.on_error or (retries.on_invalid and last_of("upstream_bytes_sent") ~= "0")
end

-- In the balancer, behind a try that has failed: whether another endpoint is asked, and whether the last one has sent an answer. Otherwise the third says with which status
-- the request ends.
function _M.judge(retries, asked, elapsed)
	local _, status = balancer.get_last_failure()
	local has_answered = last_of("upstream_header_time") ~= "-"
	if retries.timeout and elapsed >= retries.timeout then
		return false, has_answered, status
	end
	if has_answered then
		return true, true, status
	end
	local may_repeat = retries.unsafe or IDEMPOTENT[ngx.var.request_method] or last_of("upstream_bytes_sent") == "0"
	return (may_repeat and is_cause(retries, asked, status)) and true or false, false, status
end

return _M
