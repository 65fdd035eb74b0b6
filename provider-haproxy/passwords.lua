-- SPDX-License-Identifier: Apache-2.0
-- Behind policies.lua: step 11 of section 5.3 of PROTOCOL.md, names and passwords. A hash takes up to seconds, for which HAProxy would serve nobody: sluice-proxy is
-- asked, whose threads do it (provider-supervisor/password_socket.h). That a pair was good is remembered for a minute, under a digest with a key that only this
-- process has.
local split, decode, header_of = sluice.split, sluice.decode, sluice.header_of

local good_for_s = 60
local good_max = 10000 -- of the younger ones; as many older ones are there besides
local checks_max = 32 -- of a list of users at a time
local waiting_max = 256 -- requests that wait for one of these
local wait_s = 10 -- longer than any check takes: whoever began one that takes longer has gone over it
local connect_s = 15 -- sluice-proxy may have died: another is started
local name_len_max = 256
local password_len_max = 4096

local random = io.open("/dev/urandom", "rb")
local secret = random and random:read(32)
if random then
	random:close()
end

local function now()
	local clock = core.now()
	return clock.sec + clock.usec / 1000000
end

local function hex(text)
	return (text:gsub(".", function(byte)
		return string.format("%02X", byte:byte())
	end))
end

-- Name and password of the Authorization header; nil when it has none.
local function read(txn)
	local header = header_of(txn, "authorization")
	if not header or header:sub(1, 6):lower() ~= "basic " then
		return nil
	end
	local text = header:sub(7):match("^%s*(.-)%s*$"):match("^[^=]*")
	if #text % 4 == 1 or text:find("[^%w+/]") then
		return nil
	end
	local pair = txn.c:b64dec(text .. ("="):rep(-#text % 4))
	return (pair or ""):match("^([^:]*):(.*)$")
end

-- How the row of the user is named.
local function read_password(txn)
	local name = read(txn)
	if name and #name <= name_len_max then
		txn:set_var("txn.user", hex(name))
	end
end

-- ---- good ones ----

local good, older, good_count = {}, {}, 0

local function digest_of(txn, name, password, hash)
	if not secret then
		return nil
	end
	return txn.c:sha2(secret .. #name .. ":" .. name .. #password .. ":" .. password .. hash, 256)
end

local function was_good(digest)
	local ends = digest and (good[digest] or older[digest])
	return ends and ends > now()
end

local function remember(digest)
	good[digest] = now() + good_for_s
	good_count = good_count + 1
	if good_count >= good_max then
		good, older, good_count = {}, good, 0
	end
end

-- ---- checks ----

local running = {} -- by list of users: its checks, by the digest of the pair

-- Of the list, and how many there are, and who waits for them; those whose request ended before they did are forgotten.
local function running_of(list)
	local checks, count, waiting, at = running[list] or {}, 0, 0, now()
	for digest, each in pairs(checks) do
		if each.ends < at then
			checks[digest] = nil
		else
			count, waiting = count + 1, waiting + each.waiting
		end
	end
	running[list] = checks
	return checks, count, waiting
end

-- "yes" or "no"; nil: nobody can tell.
local function ask(question)
	local ends = now() + connect_s
	while true do
		local socket = core.tcp()
		socket:settimeout(wait_s)
		if socket:connect(sluice.passwords) then
			local answer = socket:send(question) and socket:receive("*l")
			socket:close()
			return answer
		end
		socket:close()
		if now() > ends then
			return nil
		end
		core.msleep(50)
	end
end

-- What became of a check that another request has begun.
local function wait_for(check)
	local pause = 2
	check.waiting = check.waiting + 1
	while not check.is_done and now() < check.ends do
		core.msleep(pause)
		pause = math.min(2 * pause, 50)
	end
	check.waiting = check.waiting - 1
	return check.outcome
end

-- Several that ask for the same pair at a time wait for one check.
local function check(list, digest, password, hash)
	local checks, count, waiting = running_of(list)
	local other = digest and checks[digest]
	if other and waiting < waiting_max then
		return wait_for(other)
	elseif other or count >= checks_max then
		return nil
	end
	local mine = {waiting = 0, ends = now() + wait_s + connect_s}
	checks[digest or mine] = mine
	local is_good, answer = pcall(ask, list .. " " .. hex(hash) .. " " .. hex(password) .. "\n")
	mine.outcome, mine.is_done = is_good and answer or nil, true
	if checks[digest or mine] == mine then
		checks[digest or mine] = nil
	end
	if running[list] == checks and not next(checks) then
		running[list] = nil
	end
	return mine.outcome
end

-- ---- what becomes of it ----

local function outcome_of(txn)
	local name, password = read(txn)
	local row = txn:get_var("txn.hash")
	if not name or not row or #password > password_len_max then
		return "no"
	end
	local hash = decode(row)
	local digest = digest_of(txn, name, password, hash)
	if was_good(digest) then
		return "yes"
	end
	local outcome = check(txn:get_var("txn.u"), digest, password, hash)
	if outcome == "yes" and digest then
		remember(digest)
	end
	return outcome
end

-- `txn.good` is what lets the request pass: without it there was an error.
local function check_password(txn)
	txn:set_var("txn.wrong", "503")
	local outcome = outcome_of(txn)
	if outcome == "yes" then
		txn:set_var("txn.good", "yes")
		txn:set_var("txn.wrong", "")
	elseif outcome == "no" then
		txn:set_var("txn.wrong", "401")
	end
end

function sluice.challenge_of(txn)
	return 'Basic realm="' .. decode(split(txn:get_var("txn.g"), "|")[24]):sub(2) .. '"'
end

local function refuse(applet)
	local is_wrong = applet:get_var("txn.wrong") == "401"
	local text = is_wrong and "unauthorized\n" or "too many passwords are being checked\n"
	applet:set_var("txn.made", "yes")
	applet:set_status(is_wrong and 401 or 503)
	if is_wrong then
		applet:add_header("www-authenticate", sluice.challenge_of(applet))
	end
	applet:add_header("content-type", "text/plain")
	applet:add_header("content-length", tostring(#text))
	applet:start_response()
	if applet.method ~= "HEAD" then
		applet:send(text)
	end
end

if core.thread == 0 then
	core.register_action("sluice_read_password", {"http-req"}, read_password)
	core.register_action("sluice_check_password", {"http-req"}, check_password)
else
	core.register_service("sluice_refuse_password", "http", refuse)
end
