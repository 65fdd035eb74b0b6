-- SPDX-License-Identifier: Apache-2.0
-- Behind checks.lua: step 11 of section 5.3 of PROTOCOL.md, names and passwords. That a pair was good is remembered for a minute, under a keyed digest.
local trim, decode, header_of, check = sluice.trim, sluice.decode, sluice.header_of, sluice.check

local name_len_max = 256
local password_len_max = 4096

local good = check.new_memory(10000, 60)

-- Name and password of the Authorization header; nil when it has none.
local function read(txn)
	local header = header_of(txn, "authorization")
	if not header or header:sub(1, 6):lower() ~= "basic " then
		return nil
	end
	local text = trim(header:sub(7)):match("^[^=]*")
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
		txn:set_var("txn.user", check.hex(name))
	end
end

local function outcome_of(txn)
	local name, password = read(txn)
	local row = txn:get_var("txn.hash")
	if not name or not row or #password > password_len_max then
		return "no"
	end
	local hash = decode(row)
	local digest = check.digest_of(txn, "password", name, password, hash)
	if good.get(digest) then
		return "yes"
	end
	local list = txn:get_var("txn.u")
	local outcome = check.ask(list, digest, "password " .. list .. " " .. check.hex(hash) .. " " .. check.hex(password))
	if outcome == "yes" then
		good.set(digest, true)
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
	return 'Basic realm="' .. decode(sluice.fields_of(txn:get_var("txn.g"))[24]):sub(2) .. '"'
end

local function refuse(applet)
	if applet:get_var("txn.wrong") == "401" then
		sluice.send(applet, 401, "unauthorized\n", {{"www-authenticate", sluice.challenge_of(applet)}})
	else
		sluice.send(applet, 503, "too many passwords are being checked\n")
	end
end

if core.thread == 0 then
	core.register_action("sluice_read_password", {"http-req"}, read_password)
	core.register_action("sluice_check_password", {"http-req"}, check_password)
else
	core.register_service("sluice_refuse_password", "http", refuse)
end
