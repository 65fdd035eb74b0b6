-- SPDX-License-Identifier: Apache-2.0
-- Active health checks: one worker asks the endpoints of the pools whose row has a line `check TYPE INTERVAL TIMEOUT RISE FALL PORT PATH` (times
-- in milliseconds; port 0: the endpoint's own; type `tls`: a handshake is enough) and writes into a dictionary of all workers who does not answer.
-- An endpoint counts as well until it has failed FALL times.
local store = require("sluice.store")
local pools = require("sluice.pools")
local ssl = require("ngx.ssl")

local _M = {}

local TICK_S = 0.25
local RUNNING_MAX = 256
local STATUS_LEN = #"HTTP/1.1 200" -- all that is read of an answer
local dict = ngx.shared.sluice_health
local match = string.match
local peers = {} -- by pool and endpoint: when the next check is due, and how many went which way in a row
local running = 0

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
	return socket:sslhandshake(false, tls.name, false)
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

local function check_one(premature, check, peer, key, entry, tls)
	running = running - 1
	entry.is_running = false
	if premature then
		return
	end
	local ok, answer = pcall(is_well, check, peer, tls)
	note(entry, check, key, ok and answer)
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

local function look_at(pool, now, seen)
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
		if entry.due <= now and not entry.is_running and running < RUNNING_MAX then
			entry.due = now + check.interval
			entry.is_running = true
			running = running + 1
			if not ngx.timer.at(0, check_one, check, peer, key, entry, tls) then
				running = running - 1
				entry.is_running = false
			end
		end
	end
end

-- The pools that are checked stand in one row, so that the others cost nothing.
local function tick(premature)
	if premature or ngx.worker.exiting() then
		return
	end
	local seen = {}
	local now = ngx.now()
	for name in string.gmatch(store.get("Ochecked") or "", "%S+") do
		local pool = pools.get(name)
		if pool and pool.check then
			look_at(pool, now, seen)
		end
	end
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
