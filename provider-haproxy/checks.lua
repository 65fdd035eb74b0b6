-- SPDX-License-Identifier: Apache-2.0
-- Behind policies.lua, for passwords.lua and clients.lua: asks sluice-proxy, whose threads check what takes longer than HAProxy could wait (provider-supervisor/checks.h).
-- Several that ask the same at a time wait for one answer.
local checks_max = 32 -- of a list at a time
local waiting_max = 256 -- requests that wait for one of these
local wait_s = 10 -- longer than any check takes: whoever began one that takes longer has gone over it
local connect_s = 15 -- sluice-proxy may have died: another is started

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

-- Of several texts, with a key that only this process has; nil: there is none.
local function digest_of(txn, ...)
	if not secret then
		return nil
	end
	local text = secret
	for _, part in ipairs({...}) do
		text = text .. #part .. ":" .. part
	end
	return txn.c:sha2(text, 256)
end

-- What is remembered for a while: as many as `max` younger ones, and as many older ones besides.
local function new_memory(max, seconds)
	local young, old, count = {}, {}, 0
	return {
		get = function(key)
			local entry = key and (young[key] or old[key])
			return entry and entry.ends > now() and entry.value or nil
		end,
		set = function(key, value)
			if not key then
				return
			end
			count = count + (young[key] and 0 or 1)
			young[key] = {value = value, ends = now() + seconds}
			if count >= max then
				young, old, count = {}, young, 0
			end
		end,
	}
end

-- ---- checks under way ----

local running = {} -- by list: its checks, by their digests

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

-- The answer; nil: nobody can tell.
local function talk(question)
	local ends = now() + connect_s
	while true do
		local socket = core.tcp()
		socket:settimeout(wait_s)
		local answer = socket:connect(sluice.checks) and socket:send(question .. "\n") and socket:receive("*l")
		socket:close()
		if answer then
			return answer ~= "busy" and answer ~= "none" and answer or nil
		elseif now() > ends then
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

-- `digest`: of what is asked; nil: nobody else may wait for it.
local function ask(list, digest, question)
	local checks, count, waiting = running_of(list)
	local other = digest and checks[digest]
	if other and waiting < waiting_max then
		return wait_for(other)
	elseif other or count >= checks_max then
		return nil
	end
	local mine = {waiting = 0, ends = now() + wait_s + connect_s}
	local key = digest or mine
	checks[key] = mine
	local is_good, answer = pcall(talk, question)
	mine.outcome, mine.is_done = is_good and answer or nil, true
	if checks[key] == mine then
		checks[key] = nil
	end
	if running[list] == checks and not next(checks) then
		running[list] = nil
	end
	return mine.outcome
end

sluice.check = {ask = ask, digest_of = digest_of, hex = hex, new_memory = new_memory}
