-- SPDX-License-Identifier: Apache-2.0
-- Active health checks: one worker asks the endpoints of the pools whose row has a line `check TYPE INTERVAL TIMEOUT RISE FALL PORT PATH` (times
-- in milliseconds; port 0: the endpoint's own; type `tls`: a handshake is enough) and writes into a dictionary of all workers who does not answer.
-- An endpoint counts as well until it has failed FALL times. At most RUNNING_MAX checks are under way at once, and the namespaces that want some have
-- equal shares of them: whoever has thousands of endpoints that never answer is late with his own checks, and with nobody else's.
local store = require("sluice.store")
local pools = require("sluice.pools")
local late = require("sluice.late")
local ssl = require("ngx.ssl")

local _M = {}

local TICK_S = 0.25
local RUNNING_MAX = 256
local STATUS_LEN = #"HTTP/1.1 200" -- all that is read of an answer
local dict = ngx.shared.sluice_health
local match = string.match
local peers = {} -- by pool and endpoint: when the next check is due, and how many went which way in a row
local running = 0
local running_of = {} -- by namespace
local turn = 0 -- of the namespaces: who begins

-- The status of an answer, or nil. `deadline` (seconds, as ngx.now()) is for all of it: a backend that sends byte after byte gains no time.
local function read_status(socket, deadline)
	local text = ""
	while #text < STATUS_LEN do
		local left_ms = (deadline - ngx.now()) * 1000
		if left_ms < 1 then
			return nil
		end
		socket:settimeout(left_ms)
		local piece = socket:receiveany(STATUS_LEN - #text)
		if not piece then
			return nil
		end
		text = text .. piece
	end
	return tonumber(match(text, "^HTTP/1%.%d (%d%d%d)$"))
end

local function ask_http(socket, peer, path, deadline)
	local host = peer.ip .. ":" .. peer.port
	if not socket:send("GET " .. path .. " HTTP/1.0\r\nHost: " .. host .. "\r\nUser-Agent: sluice-health\r\nConnection: close\r\n\r\n") then
		return false
	end
	local status = read_status(socket, deadline)
	return status ~= nil and status >= 200 and status < 400
end

-- Whom a pool trusts matters to its requests, not to whether somebody is there.
local function shake_hands(socket, tls)
	if tls.client then
		local chain, key = pools.client_pair(tls)
		chain, key = chain and ssl.parse_pem_cert(chain), key and ssl.parse_pem_priv_key(key)
		if not chain or not key or not socket:setclientcert(chain, key) then
			return false
		end
	end
	return socket:sslhandshake(false, not tls.is_nameless and tls.name or nil, false)
end

local function answers(socket, check, peer, tls)
	if check.type == "tcp" then
		return true
	end
	if tls and not shake_hands(socket, tls) then
		return false
	end
	return check.type == "tls" or ask_http(socket, peer, check.path, ngx.now() + check.timeout / 1000)
end

local function is_well(check, peer, tls)
	local socket = ngx.socket.tcp()
	socket:settimeouts(check.timeout, check.timeout, check.timeout)
	local port = check.port ~= 0 and check.port or peer.port
	if not socket:connect(peer.ip, port) then
		return false
	end
	local answer = answers(socket, check, peer, tls)
	socket:close()
	return answer
end

local function note(entry, check, key, answer)
	if answer then
		entry.good, entry.bad = entry.good + 1, 0
		if entry.is_down and entry.good >= check.rise then
			entry.is_down = false
			dict:delete(key)
		end
	else
		entry.good, entry.bad = 0, entry.bad + 1
		if not entry.is_down and entry.bad >= check.fall then
			entry.is_down = true
			dict:set(key, 0)
		end
	end
end

local function finish(entry)
	local left = running_of[entry.space] - 1
	running = running - 1
	running_of[entry.space] = left > 0 and left or nil
	entry.is_running = false
end

local function check_one(premature, check, peer, key, entry, tls)
	local ok, answer = false, false
	if not premature then
		ok, answer = pcall(is_well, check, peer, tls)
	end
	finish(entry)
	if not premature then
		note(entry, check, key, ok and answer)
	end
end

local function parse(text)
	local kind, interval, timeout, rise, fall, port, path = match(text, "^(%l+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$")
	return kind and {
		type = kind,
		interval = tonumber(interval) / 1000,
		timeout = tonumber(timeout),
		rise = tonumber(rise),
		fall = tonumber(fall),
		port = tonumber(port),
		path = path,
	}
end

-- Those of the pool's endpoints whose time has come.
local function look_at(pool, space, now, seen)
	local check = parse(pool.check)
	local tls = pool.tls or (pool.proto == "https" and {}) or nil
	for _, peer in pairs(check and pool.by_id or {}) do
		local key = pool.key .. " " .. peer.name
		local entry = peers[key]
		if not entry then
			entry = { due = now, good = 0, bad = 0, is_down = dict:get(key) == 0 }
			peers[key] = entry
		end
		seen[key] = true
		if entry.due <= now and not entry.is_running then
			space.count = space.count + 1
			space[space.count] = { check = check, peer = peer, key = key, entry = entry, tls = tls }
		end
	end
end

local function begin(work, space, now)
	local entry = work.entry
	entry.due = now + work.check.interval
	entry.is_running = true
	entry.space = space.name
	running = running + 1
	running_of[space.name] = (running_of[space.name] or 0) + 1
	if not ngx.timer.at(0, check_one, work.check, work.peer, work.key, entry, work.tls) then
		finish(entry)
	end
end

-- The next of the namespace, if it may have one more. They begin where the last tick ended, so that the last are not always those who wait.
local function begin_next(space, share, now)
	if space.taken == space.count or (running_of[space.name] or 0) >= share then
		return false
	end
	local place = (space.first + space.taken) % space.count + 1
	space.taken = space.taken + 1
	begin(space[place], space, now)
	return true
end

local firsts = {} -- by namespace

local function is_late(space, now)
	for i = space.taken, space.count - 1 do
		local work = space[(space.first + i) % space.count + 1]
		if now - work.entry.due > work.check.interval then
			return true
		end
	end
	return false
end

-- One of each in turn. One share stays free for who comes next: what is under way may last for long.
local function begin_due(spaces, now)
	local count = #spaces
	local share = math.max(1, math.floor(RUNNING_MAX / (count + 1)))
	local has_begun = true
	turn = turn + 1
	while has_begun and running < RUNNING_MAX do
		has_begun = false
		for i = 1, count do
			if running < RUNNING_MAX then
				has_begun = begin_next(spaces[(turn + i) % count + 1], share, now) or has_begun
			end
		end
	end
	local before = firsts
	firsts = {}
	for _, space in ipairs(spaces) do
		firsts[space.name] = ((before[space.name] or 0) + space.taken) % 0x40000000
		if is_late(space, now) then
			late.note(space.name, space.pool, now)
		end
	end
	late.publish(now)
end

-- The pools that are checked stand in one row, so that the others cost nothing; before them, as `=NAME`, whose they are.
local function tick(premature)
	if premature or ngx.worker.exiting() then
		return
	end
	local seen, spaces, by_name = {}, {}, {}
	local now = ngx.now()
	local owner = ""
	for name in string.gmatch(store.get("Ochecked") or "", "%S+") do
		local is_owner = name:sub(1, 1) == "="
		local pool = not is_owner and pools.get(name)
		if is_owner then
			owner = name
		elseif pool and pool.check then
			local space = by_name[owner]
			if not space then
				space = { name = owner, pool = name, count = 0, taken = 0, first = firsts[owner] or 0 }
				by_name[owner] = space
				spaces[#spaces + 1] = space
			end
			look_at(pool, space, now, seen)
		end
	end
	begin_due(spaces, now)
	for key in pairs(peers) do
		if not seen[key] then
			peers[key] = nil
			dict:delete(key)
		end
	end
end

function _M.start()
	if ngx.worker.id() == 0 then
		ngx.timer.every(TICK_S, tick)
	end
end

return _M
