-- SPDX-License-Identifier: Apache-2.0
-- Which location a backend is asked by beyond its protocol (provider-nginx/ways.h), and whether another endpoint is asked when one has failed. nginx decides by the
-- directives of the location whether that is possible; here it is decided whether it is wanted.
local balancer = require("ngx.balancer")
local bit = require("bit")

local _M = { known = { [""] = true } } -- names of those that this nginx has

local find, match, sub = string.find, string.match, string.sub
local band, bnot = bit.band, bit.bnot
local max, min = math.max, math.min
local TRIES_MAX = 3 -- without a policy that says how many
local TRIES_ANY_MAX = 100 -- with one that says any number
local TRIES_AGAIN_MAX = 10 -- with one that says more than there are endpoints, which are asked again then
local BUFFERED_MAX = 256 -- answers at a time that a worker may write to the disk
local IDEMPOTENT = { GET = true, HEAD = true, OPTIONS = true, TRACE = true, PUT = true, DELETE = true }
local buffered = 0

local function count_of(bits)
	local count = 0
	while bits ~= 0 do
		bits, count = band(bits, bits - 1), count + 1
	end
	return count
end

-- How far one that is there, with its statuses, is from what is wanted: statuses that it lacks are worse than others that it has.
local function distance(statuses, wanted)
	return count_of(band(wanted, bnot(statuses))) * 16 + count_of(band(statuses, bnot(wanted)))
end

-- The name of the way for these statuses, nil: the one that only reads ahead. One that nobody has wanted before comes with a reload; until then the one that is nearest to it.
-- `head`: that of HTTP/1.0, or empty.
local function name_of(statuses, head, tail)
	local best, best_distance = _M.known[head .. tail] and head .. tail or _M.known[tail] and tail or "", math.huge
	for name in pairs(statuses and _M.known or {}) do
		local digits = match(name, "^" .. head .. "_r(%x%x)" .. tail .. "$")
		local far = digits and distance(tonumber(digits, 16), statuses)
		if far and far < best_distance then
			best, best_distance = name, far
		end
	end
	return best
end

-- Of a parsed policy, nil: there is none. `usual` is for requests that may be sent again, `once` for the others; `full` and `full_once` are for when the disk has no more
-- room. Who is to send slowly has to read ahead, at least a little. `is_old`: by HTTP/1.0.
function _M.new(retries, buffering, bandwidth, is_old)
	local statuses = retries and retries.statuses
	local has_file = buffering and buffering.response
	if not statuses and not has_file and not bandwidth and not is_old then
		return nil
	end
	local head = is_old and "_o" or ""
	local of_once = retries and retries.unsafe and statuses or nil
	local tail = has_file and "_b" or (bandwidth and "_m" or "")
	local rest = tail == "_b" and "_m" or tail
	return {
		has_file = has_file,
		usual = name_of(statuses, head, tail), once = name_of(of_once, head, tail), full = name_of(statuses, head, rest), full_once = name_of(of_once, head, rest),
	}
end

-- The location for a request whose protocol has this one. Counts the request if its answer may go to the disk: release() takes it off.
function _M.location_of(asked, location)
	local way = asked.policy and asked.policy.way
	if not way then
		return location
	end
	local is_full = way.has_file and buffered >= BUFFERED_MAX
	local name
	if IDEMPOTENT[ngx.var.request_method] then
		name = is_full and way.full or way.usual
	else
		name = is_full and way.full_once or way.once
	end
	asked.has_way = find(name, "_r", 1, true) ~= nil
	asked.is_buffered = way.has_file and not is_full
	if asked.is_buffered then
		buffered = buffered + 1
	end
	return location .. name
end

-- Once for each that location_of() has been asked for.
function _M.release(asked)
	if asked.is_buffered then
		asked.is_buffered = false
		buffered = buffered - 1
	end
end

-- How often endpoints of so many may be asked in all.
function _M.tries(retries, count)
	if not retries then
		return min(TRIES_MAX, count)
	end
	if not retries.is_any then
		return 1
	end
	return retries.tries and min(retries.tries, max(TRIES_AGAIN_MAX, count)) or min(TRIES_ANY_MAX, count)
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
