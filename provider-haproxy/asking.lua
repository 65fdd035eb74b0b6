-- SPDX-License-Identifier: Apache-2.0
-- Behind policies.lua: step 12 of section 5.3 of PROTOCOL.md, another server says whether a request may pass. The question goes through a socket that only HAProxy can
-- open to the frontend `questions` (haproxy.cfg.tmpl), which asks the pool as any request does. HAProxy's own client for Lua would do, but has no limit for answers.
local split, trim, decode, encode_text, value_of = sluice.split, sluice.trim, sluice.decode, sluice.encode_text, sluice.value_of

local limit_s = 10
local header_lines_max = 300
local blocks_max = 16 -- of a body; the frontend says which are too long for that
local block_len = 4096

local function now()
	local clock = core.now()
	return clock.sec + clock.usec / 1000000
end

-- ---- how many are under way ----

local under_way_max = 256 -- of a policy
local under_way = {} -- by policy: until when each may last; who was given up ends without telling

local function enter(policy)
	local list = under_way[policy] or {}
	local count, at = 0, now()
	under_way[policy] = list
	for token, ends in pairs(list) do
		if ends < at then
			list[token] = nil
		else
			count = count + 1
		end
	end
	if count >= under_way_max then
		return nil
	end
	local token = {}
	list[token] = at + 2 * limit_s
	return token
end

-- One that has lasted too long was given up by others, perhaps with all the rest.
local function leave(policy, token)
	local list = under_way[policy]
	if not list then
		return
	end
	list[token] = nil
	if not next(list) then
		under_way[policy] = nil
	end
end

-- ---- the question ----

-- Headers of one connection, of a body, of an upgrade, by their names in lower case.
local not_copied = {}
for name in ("connection content-length expect host http2-settings keep-alive proxy proxy-connection te trailer transfer-encoding upgrade"):gmatch("%S+") do
	not_copied[name] = true
end

-- Those that say whom a question is for; whatever others say in them is left out. `name` is in lower case.
local function is_reserved(name)
	return name:sub(1, 7) == "sluice-"
end

-- A list of { name, value }; what is said of the client is among them already.
local function headers_of(txn)
	local list = {}
	for name, values in pairs(txn.http:req_get_headers()) do
		local is_copied = not not_copied[name:lower()] and not is_reserved(name:lower())
		for i = 0, is_copied and #values or -1 do
			list[#list + 1] = {name, values[i]}
		end
	end
	return list
end

local function without(list, name)
	local kept = {}
	for _, pair in ipairs(list) do
		if pair[1]:lower() ~= name then
			kept[#kept + 1] = pair
		end
	end
	return kept
end

-- A change of Host is the second.
local function change(txn, list, host, changes)
	for _, text in ipairs(split(changes, "&")) do
		local action, name, pieces = text:match("^(%a)([^;]*);(.*)$")
		local key = action and decode(name):lower()
		local value = action and action ~= "r" and value_of(txn, pieces) or ""
		if key == "host" then
			host = action == "s" and value ~= "" and value or host
		elseif action and not is_reserved(key) then
			list = action == "a" and list or without(list, key)
			list[#list + 1] = action ~= "r" and {decode(name), value} or nil
		end
	end
	return list, host
end

local function encode(byte)
	return string.format("%%%02X", byte:byte())
end

-- With a slash in front, and without bytes that no target has (RFC 3986).
local function target_of(text)
	local path, query = text:match("^([^?]*)(.*)$")
	path = path:gsub("[^%w%-._~!$&'()*+,;=:@/%%]", encode)
	return (path:sub(1, 1) == "/" and path or "/" .. path) .. query:gsub("[^%w%-._~!$&'()*+,;=:@/?%%%[%]]", encode)
end


-- Without a pool of its own that of the same host is asked that has the path.
local function question_of(txn, auth)
	local list, host = change(txn, headers_of(txn), auth.host ~= "" and value_of(txn, auth.host) or txn:get_var("txn.n") or "", auth.changes)
	if host == "" or host:find("[%s%c]") then
		return nil
	end
	local lines = {auth.method .. " " .. target_of(value_of(txn, auth.target)) .. " HTTP/1.0", "host: " .. host}
	lines[#lines + 1] = auth.pool ~= "" and "sluice-pool: " .. auth.pool or "sluice-key: " .. (txn:get_var("txn.k") or "")
	for _, pair in ipairs(list) do
		lines[#lines + 1] = pair[1] .. ": " .. pair[2]
	end
	if auth.method ~= "GET" and auth.method ~= "HEAD" then
		lines[#lines + 1] = "content-length: 0"
	end
	return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- ---- the answer ----

-- The status, and lists of values by the names of headers in lower case.
local function read_head(receive)
	local status = tonumber((receive("*l") or ""):match("^HTTP/1%.%d (%d%d%d)"))
	local found = {}
	for _ = 1, status and header_lines_max or 0 do
		local line = receive("*l")
		local name, value = (line or ""):match("^([^:]+):(.*)$")
		if line == "" then
			return status, found
		elseif not name then
			return nil
		end
		name = name:lower()
		found[name] = found[name] or {}
		table.insert(found[name], trim(value))
	end
end

-- Whether it ends, and not too late; so that the connection to the endpoint can be used again.
local function read_body(receive)
	for _ = 1, blocks_max do
		local bytes, problem = receive(block_len)
		if not bytes then
			return not (problem or ""):find("timeout")
		end
	end
	return false
end

-- At most `limit_s` altogether.
local function talk(socket, question)
	local deadline = now() + limit_s
	local function receive(what)
		if now() >= deadline then
			return nil, "timeout"
		end
		return socket:receive(what)
	end
	socket:settimeout(limit_s) -- of silence
	if not socket:connect(sluice.questions) or not socket:send(question) then
		return nil
	end
	local status, found = read_head(receive)
	if status and (found["sluice-body"] or read_body(receive)) then
		return status, found
	end
end

local function joined(values)
	local parts = {}
	for i, value in ipairs(values or {}) do
		parts[i] = encode_text(value)
	end
	return table.concat(parts, "&")
end

-- nil: nothing that counts.
local function ask(txn, auth)
	local token = enter(auth.policy)
	local question = token and question_of(txn, auth)
	local socket = question and core.tcp()
	local answer
	if socket then
		local is_good, status, found = pcall(talk, socket, question)
		socket:close()
		if not is_good then
			core.Warning("sluice: a question: " .. tostring(status))
		elseif status then
			answer = {status = status, copied = {}, cookies = joined(found["set-cookie"]), challenges = joined(found["www-authenticate"])}
			for i, name in ipairs(auth.copied) do
				answer.copied[i] = found[name:lower()] and table.concat(found[name:lower()], ", ")
			end
		end
	end
	if token then
		leave(auth.policy, token)
	end
	return answer
end

-- For those that tell others.
sluice.ways = {enter = enter, leave = leave, headers_of = headers_of, change = change, target_of = target_of, talk = talk}

-- ---- what was answered before ----

local kept_len_max = 8192 -- of an answer
local all_kept_len_max = 4 * 1024 * 1024 -- of the younger ones; as many older ones are there besides
local kept, older, kept_len = {}, {}, 0
local usual_times = {["200"] = 300, ["202"] = 300, ["401"] = 300}
local random = io.open("/dev/urandom", "rb")
local secret = random and random:read(32)
if random then
	random:close()
end

-- Nobody who reads this memory finds passwords in it.
local function key_of(txn, auth)
	if auth.cache_key == "" or not secret then
		return nil
	end
	local regex, path = txn:get_var("txn.re") or "", txn:get_var("txn.p") or ""
	local skipped = tonumber(split(txn:get_var("txn.r"), "|")[3])
	local place = regex ~= "" and regex or path:sub(1, skipped or #path)
	local text = secret
	for _, part in ipairs({auth.policy, auth.row, txn:get_var("txn.h") or "", place, value_of(txn, auth.cache_key)}) do
		text = text .. #part .. ":" .. part
	end
	return txn.c:sha2(text, 256)
end

local function remembered(key)
	local answer = kept[key] or older[key]
	return answer and answer.ends > now() and answer or nil
end

local function len_of(answer)
	local len = #answer.cookies + #answer.challenges
	for _, value in pairs(answer.copied) do
		len = len + #value
	end
	return len
end

local function keep(key, auth, answer)
	local times = auth.cache_times ~= "" and {} or usual_times
	for status, seconds in auth.cache_times:gmatch("(%d+);(%d+)") do
		times[status] = tonumber(seconds)
	end
	local seconds, len = times[tostring(answer.status)], len_of(answer)
	if not seconds or len > kept_len_max then
		return
	end
	answer.ends = now() + seconds
	kept[key] = answer
	kept_len = kept_len + len + 256
	if kept_len > all_kept_len_max then
		kept, older, kept_len = {}, kept, 0
	end
end

local function answer_to(txn, auth)
	local key = key_of(txn, auth)
	local answer = key and remembered(key)
	if answer then
		return answer
	end
	answer = ask(txn, auth)
	if key and answer then
		keep(key, auth, answer)
	end
	return answer
end

-- ---- what becomes of it ----

local function read(txn)
	local row = txn:get_var("txn.auth")
	local fields = split(row, "|")
	local auth = {
		policy = txn:get_var("txn.y"), row = row, pool = fields[1], method = fields[2], host = fields[3], target = fields[4], changes = fields[5], copied = {},
		sign_in = fields[7], is_always = fields[8] ~= "", cache_key = fields[9], cache_times = fields[10],
	}
	for i, name in ipairs(fields[6] ~= "" and split(fields[6], "&") or {}) do
		auth.copied[i] = decode(name)
	end
	return auth
end

-- A client cannot send them, whoever has let it in. What it has sent is kept for values that are made of it.
local function copy(txn, auth, copied)
	local made, before = {}, {}
	if txn:get_var("txn.good") then
		made[1] = {"r", "authorization", ""}
	end
	for i, name in ipairs(auth.copied) do
		before[name:lower()] = sluice.lines_of(txn, name)
		local value = copied[i] or ""
		local is_good = value ~= "" and not value:find("[%c\127]")
		made[#made + 1] = {is_good and "s" or "r", name, is_good and value or ""}
	end
	txn:set_priv(before)
	sluice.change_request(txn, made)
end

local function refuse(txn, auth, answer)
	local status = answer and answer.status
	-- Where one of both is enough.
	if txn:get_var("txn.wrong") == "401" then
		txn:set_var("txn.refused", "401")
		txn:set_var("txn.challenges", encode_text(sluice.challenge_of(txn)))
		return
	end
	if status == 401 then
		txn:set_var("txn.challenges", answer.challenges)
		if auth.sign_in ~= "" then
			txn:set_var("txn.l", value_of(txn, auth.sign_in))
			status = 302
		end
	elseif status ~= 403 then
		status = 500
	end
	txn:set_var("txn.refused", tostring(status))
end

-- `txn.asked` is what lets the request pass: without it there was an error.
local function decide(txn)
	local auth = read(txn)
	if txn:get_var("txn.fits") then
		copy(txn, auth, {})
		txn:set_var("txn.asked", "yes")
		return
	end
	local answer = answer_to(txn, auth)
	if answer and answer.cookies ~= "" then
		txn:set_var("txn.cookies", (auth.is_always and "a" or "-") .. answer.cookies)
	end
	if answer and answer.status >= 200 and answer.status < 300 then
		copy(txn, auth, answer.copied)
		txn:set_var("txn.asked", "yes")
	else
		refuse(txn, auth, answer)
	end
end

local refusals = {
	["401"] = "unauthorized\n", ["403"] = "forbidden\n", ["500"] = "nobody can tell whether this may pass\n",
}

local function deny(applet)
	local status = applet:get_var("txn.refused") or "500"
	local challenges = applet:get_var("txn.challenges") or ""
	local headers = {}
	for i, value in ipairs(challenges ~= "" and split(challenges, "&") or {}) do
		headers[i] = {"www-authenticate", decode(value)}
	end
	if status == "302" then
		headers[#headers + 1] = {"location", applet:get_var("txn.l")}
	end
	sluice.send(applet, tonumber(status), refusals[status], headers)
end

if core.thread == 0 then
	core.register_action("sluice_ask", {"http-req"}, decide)
else
	core.register_service("sluice_deny", "http", deny)
end
