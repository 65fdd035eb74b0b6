-- SPDX-License-Identifier: Apache-2.0
-- Counts of the traffic of each Ingress (provider-proxy/traffic.h, whose order of fields this is). A worker counts in tables of its own, and adds them to those of
-- all workers once a second, so that a request costs a few additions. What a worker that is killed has counted since then is lost.
--
-- What is being served stands under the number of a worker's place, `&PLACE`, as its pid and a line for each owner, which it writes anew each second: what was
-- written by a worker that is killed goes by itself. So do an exemplar for each bucket of an owner's durations, in one text, as traffic.h has them.
local shared = ngx.shared

local _M = { is_on = false }

local format = string.format
local floor, concat = math.floor, table.concat
local gmatch, match = string.gmatch, string.match

local NONE, OTHERS = "/(none)", "/(others)"
local BOUNDS_MS = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 }
local BUCKET, DENIED = 5, 21 -- before the first of each
local DURATION, SENT, RECEIVED, RETRIES = 18, 19, 20, 21
local FIELDS = 27
local GUARDS = { ["source-access"] = 1, ["basic-auth"] = 2, ["external-auth"] = 3, ["client-tls"] = 4, ["rate-limit"] = 5, ["body-limit"] = 6 }
local FLUSH_S = 1
local LINES_AT_ONCE = 200
local PLACES = 256 -- of workers; those of reloads before count, too, until they end
local KEPT_S = 10 -- what a worker has written that is not heard of any more
local OUT_MAX = 10000 -- endpoints

local limit = 0
local leaves_s = 0 -- how long a worker that leaves may take to finish its requests
local dict
local id_name -- of a variable: by what an exemplar says which request it is; nil: there are none
local running = {} -- by owner: requests that have not ended
local is_leaving = false
local place
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

local function note_exemplar(counts, bucket, ms)
	local ids = counts.ids
	if not ids then
		ids = {}
		counts.ids = ids
	end
	-- One a second is enough.
	if not ids[bucket] then
		local id = ngx.var[id_name]
		ids[bucket] = id and id ~= "" and format("%s:%.0f:%.0f", id, ms, ngx.now() * 1000) or nil
	end
end

-- A request is on its way for the owner; finish() follows.
function _M.begin(owner)
	running[owner] = (running[owner] or 0) + 1
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
	local which = bucket_of(ms)
	local bucket = BUCKET + which
	counts[bucket] = counts[bucket] + 1
	if id_name then
		note_exemplar(counts, which - 1, ms)
	end
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

-- Of several workers that do so at once the last one wins, which is as good.
local function keep_exemplars(owner, ids)
	local kept, words, count = {}, {}, 0
	for bucket, text in gmatch(dict:get(owner .. " ids") or "", " (%d+):(%S+)") do
		kept[tonumber(bucket)] = text
	end
	for bucket, text in pairs(ids) do
		kept[bucket] = text
	end
	for bucket, text in pairs(kept) do
		count = count + 1
		words[count] = format(" %d:%s", bucket, text)
	end
	dict:set(owner .. " ids", concat(words))
end

local function add_up()
	local ready = pending
	pending = {}
	for owner, counts in pairs(ready) do
		for i = 1, FIELDS do
			if counts[i] ~= 0 then
				dict:incr(owner .. " " .. i, counts[i], 0)
			end
		end
		if counts.ids then
			keep_exemplars(owner, counts.ids)
		end
	end
end

-- A worker that was not heard of for long may have lost its place to another.
local function find_place(pid)
	if place and match(dict:get("&" .. place) or "", "^%d+") == pid then
		return place
	end
	for i = 1, PLACES do
		if dict:add("&" .. i, pid, KEPT_S) then
			return i
		end
	end
	return nil
end

local function publish()
	local lines, count = { tostring(ngx.worker.pid()) }, 1
	for owner, number in pairs(running) do
		if number > 0 then
			count = count + 1
			lines[count] = settle(owner) .. " " .. number
		else
			running[owner] = nil
		end
	end
	place = find_place(lines[1])
	if place then
		-- Rather than that counts make room for it, it is not known.
		dict:safe_set("&" .. place, concat(lines, "\n"), is_leaving and leaves_s or KEPT_S)
	end
end

-- The last time is when the worker leaves, with requests that have not ended.
local function flush(premature)
	is_leaving = is_leaving or premature
	add_up()
	publish()
end

-- Log phase, behind count().
function _M.finish(owner)
	running[owner] = running[owner] - 1
	if is_leaving then
		flush()
	end
end

local function print_running()
	local sums = {}
	for i = 1, PLACES do
		for owner, number in gmatch(dict:get("&" .. i) or "", "\n(%S+) (%d+)") do
			sums[owner] = (sums[owner] or 0) + tonumber(number)
		end
	end
	for owner, number in pairs(sums) do
		ngx.say("/(active) ", owner, " ", number)
	end
end

-- What checks have found (health.lua), and who has refused a connection (pools.lua).
local function print_out()
	local health = shared.sluice_health
	for _, key in ipairs(health:get_keys(OUT_MAX)) do
		if health:get(key) == 0 then
			ngx.say("/(out) ", key)
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
			ngx.say(concat(line, " "), dict:get(owner .. " ids") or "")
		end
		if n % LINES_AT_ONCE == 0 then
			ngx.sleep(0)
		end
	end
	print_running()
	print_out()
end

-- `max`: of Ingresses; 0: nothing is counted. `id`: the variable with the name of a request, for exemplars; nil: it leads nowhere. `shutdown_s`: how long a
-- worker may take to end.
function _M.init(max, id, shutdown_s)
	limit, id_name, leaves_s, dict = max, id, shutdown_s, shared.sluice_traffic
	_M.is_on = max > 0
end

function _M.start()
	if _M.is_on then
		ngx.timer.every(FLUSH_S, flush)
	end
end

return _M
