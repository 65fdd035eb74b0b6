-- SPDX-License-Identifier: Apache-2.0
-- The traffic of each Ingress. nginx writes a line for each request (nginx.conf.tmpl), from which sluice-proxy counts (provider-supervisor/traffic_counts.h); here it is
-- said whose the request is, in the variable of that line; behind a blank stands what few have, a plus for each retry and the reason of a refusal.
--
-- What is being served is known by a semaphore for each Ingress in each worker. It is raised when a request is found to be the Ingress's, and lowered when nginx frees
-- what the request had, by a call of libc that nginx makes itself: no Lua has to run when a request ends. Each worker writes down once a second how many there are,
-- under the number of its place, `&PLACE`, as its pid and a line for each owner: what was written by a worker that is killed goes by itself.
local ffi = require("ffi")
local get_request = require("resty.core.base").get_request
local shared = ngx.shared

local _M = { is_on = false }

local concat = table.concat
local byte, find, gmatch, match, sub = string.byte, string.find, string.gmatch, string.match, string.sub

local BAR, DASH = "|", 45
local LEFT_OUT = "-"
local TELL_S, LEAVING_S = 1, 0.25
local PLACES = 256 -- of workers; those of reloads before count, too, until they end
local KEPT_S = 10 -- what a worker has written that is not heard of any more
local OUT_MAX = 10000 -- endpoints

ffi.cdef([[
typedef union { char size[64]; long alignment; } sluice_semaphore;
int sem_init(void *semaphore, int is_shared, unsigned int value);
int sem_post(void *semaphore);
int sem_trywait(void *semaphore);
int sem_getvalue(void *semaphore, int *value);
typedef struct { int (*handler)(void *data); void *data; } sluice_cleanup;
sluice_cleanup *ngx_http_cleanup_add(void *request, size_t size);
]])
local C = ffi.C
local lower -- what nginx calls

local dict
local place
local value = ffi.new("int[1]")
local owners, owner_count = {}, 0 -- by name
local found, found_count = {}, 0 -- the same, by what was found for a path
local owners_max, forget_at = 0, 0
local running = {} -- owners that have requests, and those that had some in this second

-- ---- whose a request is ----

local function new_owner(name)
	local semaphore = ffi.new("sluice_semaphore")
	C.sem_init(semaphore, 0, 0)
	return { name = name, semaphore = semaphore }
end

-- Ingresses come and go; what this worker knows of them must not grow for ever. Those that have requests are still among the running ones.
local function forget()
	owners, owner_count, found, found_count = {}, 0, {}, 0
	for owner in pairs(running) do
		owners[owner.name], owner_count = owner, owner_count + 1
	end
	forget_at = 2 * math.max(owners_max, owner_count)
end

local function owner_of(name)
	local owner = owners[name]
	if not owner then
		if owner_count >= forget_at then
			forget()
		end
		owner = owners[name] or new_owner(name)
		owners[name], owner_count = owner, owner_count + 1
	end
	return owner
end

-- Behind a dash stands whose requests have no line in the access log.
local function read_owner(text)
	if not text or text == "" then
		return nil
	end
	return owner_of(byte(text) == DASH and sub(text, 2) or text)
end

local function begin(owner)
	local cleanup = C.ngx_http_cleanup_add(get_request(), 0)
	ngx.var.sluice_owner = owner.name
	if cleanup ~= nil then
		C.sem_post(owner.semaphore)
		cleanup.handler, cleanup.data = lower, owner.semaphore
		running[owner] = true
	end
end

-- `row`: what was found for its path, with the Ingress behind a bar (provider-proxy/routes.h); nil: nothing.
function _M.found(row)
	local owner = found[row or ""]
	if owner then
		return begin(owner)
	end
	local bar = row and find(row, BAR, 1, true)
	owner = bar and read_owner(sub(row, bar + 1))
	if owner then
		if found_count >= forget_at then
			found, found_count = {}, 0
		end
		found[row], found_count = owner, found_count + 1
		begin(owner)
	end
end

-- Likewise the Ingress of a rule; nil: none.
function _M.chosen(name)
	local owner = read_owner(name)
	if owner then
		begin(owner)
	end
end

-- It is not counted.
function _M.leave_out()
	ngx.var.sluice_owner = LEFT_OUT
end

-- The owner, the pluses, the reason.
local function read_more()
	return match(ngx.var.sluice_owner or "", "^(%S*) ?(%+*)(.*)$")
end

-- The first reason is the one that counts.
function _M.refused(why)
	local owner, retries, reason = read_more()
	if why and reason == "" then
		ngx.var.sluice_owner = owner .. " " .. retries .. why
	end
end

-- Another endpoint is asked.
function _M.retried()
	local owner, retries, reason = read_more()
	ngx.var.sluice_owner = owner .. " +" .. retries .. reason
end

-- ---- what is being served ----

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

local function tell()
	local lines, count = { tostring(ngx.worker.pid()) }, 1
	for owner in pairs(running) do
		C.sem_getvalue(owner.semaphore, value)
		if value[0] > 0 then
			count = count + 1
			lines[count] = owner.name .. " " .. value[0]
		else
			running[owner] = nil
		end
	end
	place = find_place(lines[1])
	if place then
		-- Rather than that something makes room for it, it is not known.
		dict:safe_set("&" .. place, concat(lines, "\n"), KEPT_S)
	end
end

-- The last time is when the worker leaves: it goes on telling until its requests have ended, which `worker_shutdown_timeout` sees to.
local function on_second(is_leaving)
	tell()
	while is_leaving and next(running) do
		ngx.sleep(LEAVING_S)
		tell()
	end
	if is_leaving and place then
		dict:delete("&" .. place)
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

-- For the provider, as provider-proxy/traffic_now.h has it.
function _M.print()
	if _M.is_on then
		print_running()
		print_out()
	end
end

-- `max`: of Ingresses; 0: nothing is counted.
function _M.init(max)
	dict = shared.sluice_traffic
	owners_max, forget_at = max, 2 * max
	_M.is_on = max > 0
	if _M.is_on then
		lower = ffi.cast("int (*)(void *)", C.sem_trywait)
	end
end

function _M.start()
	if _M.is_on then
		ngx.timer.every(TELL_S, on_second)
	end
end

return _M
