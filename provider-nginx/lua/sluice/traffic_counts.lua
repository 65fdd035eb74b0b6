-- SPDX-License-Identifier: Apache-2.0
-- Counts of the traffic of each Ingress (provider-proxy/traffic.h, whose order of fields this is). A worker counts in tables of its own, and adds them to those of
-- all workers once a second, so that a request costs a few additions. What a worker that is killed has counted since then is lost.
local shared = ngx.shared

local _M = { is_on = false }

local format = string.format
local floor, concat = math.floor, table.concat

local NONE, OTHERS = "/(none)", "/(others)"
local BOUNDS_MS = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 }
local BUCKET, DENIED = 5, 21 -- before the first of each
local DURATION, SENT, RECEIVED, RETRIES = 18, 19, 20, 21
local FIELDS = 27
local GUARDS = { ["source-access"] = 1, ["basic-auth"] = 2, ["external-auth"] = 3, ["client-tls"] = 4, ["rate-limit"] = 5, ["body-limit"] = 6 }
local FLUSH_S = 1
local LINES_AT_ONCE = 200

local limit = 0
local dict
local pending = {} -- by owner: what is not in the dictionary yet
local known, known_count = {}, 0 -- by owner: under which name it is counted

-- Each owner has a number, under which its counts stand. Beyond the limit all count as one.
local function settle(owner)
	if dict:get("@" .. owner) then
		return owner
	elseif owner ~= OTHERS and (dict:get("owners") or 0) >= limit then
		return settle(OTHERS)
	elseif dict:add("@" .. owner, true) then
		dict:set("#" .. dict:incr("owners", 1, 0), owner)
	end
	return owner
end

local function new_counts(owner)
	local name = known[owner]
	if not name then
		name = settle(owner)
		-- Ingresses come and go; what this worker knows of them must not grow for ever.
		if known_count >= 2 * limit then
			known, known_count = {}, 0
		end
		known[owner], known_count = name, known_count + 1
	end
	local counts = pending[name]
	if not counts then
		counts = {}
		for i = 1, FIELDS do
			counts[i] = 0
		end
		pending[name] = counts
	end
	return counts
end

local function bucket_of(ms)
	for i = 1, #BOUNDS_MS do
		if ms <= BOUNDS_MS[i] then
			return i
		end
	end
	return #BOUNDS_MS + 1
end

-- Log phase. `owner` may be nil; `why`: the reason of the access log, nil without one.
function _M.count(owner, why)
	local counts = pending[owner or NONE] or new_counts(owner or NONE)
	local var = ngx.var
	local ms = (ngx.now() - ngx.req.start_time()) * 1000
	local class = floor(ngx.status / 100)
	if class >= 1 and class <= 5 then
		counts[class] = counts[class] + 1
	end
	local bucket = BUCKET + bucket_of(ms)
	counts[bucket] = counts[bucket] + 1
	counts[DURATION] = counts[DURATION] + ms
	counts[SENT] = counts[SENT] + var.bytes_sent
	counts[RECEIVED] = counts[RECEIVED] + var.request_length
	local guard = why and GUARDS[why]
	if guard then
		counts[DENIED + guard] = counts[DENIED + guard] + 1
	end
end

-- Another endpoint is asked.
function _M.count_retry(owner)
	local counts = pending[owner or NONE] or new_counts(owner or NONE)
	counts[RETRIES] = counts[RETRIES] + 1
end

local function flush()
	local ready = pending
	pending = {}
	for owner, counts in pairs(ready) do
		for i = 1, FIELDS do
			if counts[i] ~= 0 then
				dict:incr(owner .. " " .. i, counts[i], 0)
			end
		end
	end
end

-- For the provider: a line for each owner.
function _M.print()
	if not _M.is_on then
		return
	end
	for n = 1, dict:get("owners") or 0 do
		local owner = dict:get("#" .. n)
		local line = { owner }
		for i = 1, owner and FIELDS or 0 do
			line[i + 1] = format("%.0f", dict:get(owner .. " " .. i) or 0)
		end
		if owner then
			ngx.say(concat(line, " "))
		end
		if n % LINES_AT_ONCE == 0 then
			ngx.sleep(0)
		end
	end
end

-- `max`: of Ingresses; 0: nothing is counted.
function _M.init(max)
	limit, dict = max, shared.sluice_traffic
	_M.is_on = max > 0
end

function _M.start()
	if _M.is_on then
		ngx.timer.every(FLUSH_S, flush)
	end
end

return _M
