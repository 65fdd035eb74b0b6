-- SPDX-License-Identifier: Apache-2.0
-- Behind policies.lua: answers, as they are changed whoever has made them, and those that are made here. HAProxy has no action of Lua that sees those of `return`, of
-- `redirect`, and its own errors; but it evaluates samples for each of them, and a sample of Lua may change the headers.
local split, trim, decode = sluice.split, sluice.trim, sluice.decode

-- ---- answers of backends ----

-- What stands for a pattern, of which each dot fits any byte, in Lua.
local function pattern_of(text)
	return (text:gsub("[^%w.]", "%%%0"))
end

-- Pairs of texts, from and to; `pattern`: it is found anywhere, and the whole becomes `to`.
local function pairs_of(field)
	local changes = {}
	for _, text in ipairs(field ~= "" and split(field, "&") or {}) do
		local from, to, kind = text:match("^([^;]*);([^;]*);?(.*)$")
		changes[#changes + 1] = {decode(from), decode(to), pattern = kind == "p" and pattern_of(decode(from)) or nil}
	end
	return changes
end

-- nil: none fits.
local function changed_start(text, changes)
	for _, change in ipairs(changes) do
		if change.pattern then
			if text:find(change.pattern) then
				return change[2]
			end
		elseif text:sub(1, #change[1]) == change[1] then
			return change[2] .. text:sub(#change[1] + 1)
		end
	end
end

-- What follows the first `url=`, without case.
local function changed_refresh(text, changes)
	local _, stop = text:lower():find("url=", 1, true)
	local url = stop and changed_start(text:sub(stop + 1), changes)
	return url and text:sub(1, stop) .. url
end

local function without_dot(domain)
	return (domain:gsub("^%.", ""))
end

local function changed_domain(text, changes)
	local plain = without_dot(text):lower()
	for _, change in ipairs(changes) do
		if change.pattern then
			if text:lower():find(change.pattern:lower()) then
				return change[2]
			end
		elseif plain == without_dot(change[1]):lower() then
			return text:match("^%.?") .. without_dot(change[2])
		end
	end
end

-- The attribute as it will be, or nil.
local function changed_attribute(attribute, domains, paths)
	local equals = attribute:find("=", 1, true)
	local name = equals and trim(attribute:sub(1, equals - 1)):lower()
	local made
	if name == "path" then
		made = changed_start(trim(attribute:sub(equals + 1)), paths)
	elseif name == "domain" then
		made = changed_domain(trim(attribute:sub(equals + 1)), domains)
	end
	return made and attribute:sub(1, equals) .. made
end

-- A semicolon ends an attribute also where there are quotes: that is how browsers read it.
local function changed_cookie(line, domains, paths)
	local parts = split(line, ";")
	for i = 2, #parts do
		parts[i] = changed_attribute(parts[i], domains, paths) or parts[i]
	end
	return table.concat(parts, ";")
end

-- Lines of a header, in their order; nothing is written that stays as it is.
local function change_lines(http, name, call)
	local lines = http:res_get_headers()[name]
	local made, is_changed = {}, false
	for i = 0, lines and #lines or -1 do
		made[i] = call(lines[i]) or lines[i]
		is_changed = is_changed or made[i] ~= lines[i]
	end
	if not is_changed then
		return
	end
	http:res_del_header(name)
	for i = 0, #made do
		http:res_add_header(name, made[i])
	end
end

local function change_names(http, fields)
	local locations, domains, paths = pairs_of(fields[16]), pairs_of(fields[17]), pairs_of(fields[18])
	if #locations ~= 0 then
		change_lines(http, "location", function(value)
			return changed_start(value, locations)
		end)
		change_lines(http, "refresh", function(value)
			return changed_refresh(value, locations)
		end)
	end
	if #domains + #paths ~= 0 then
		change_lines(http, "set-cookie", function(value)
			return changed_cookie(value, domains, paths)
		end)
	end
end

-- ---- what is said to clients besides ----

local actions = {
	s = function(http, name, value)
		http:res_set_header(name, value)
	end,
	a = function(http, name, value)
		http:res_add_header(name, value)
	end,
	r = function(http, name)
		http:res_del_header(name)
	end,
}

-- Statuses with which cookies of whoever let the request in go to the client.
local good = {[200] = true, [201] = true, [204] = true, [206] = true, [301] = true, [302] = true, [303] = true, [304] = true, [307] = true, [308] = true}

local function add_cookies(txn)
	local cookies = txn:get_var("txn.cookies")
	if not cookies or not (cookies:sub(1, 1) == "a" or good[txn.f:status()]) then
		return
	end
	for _, value in ipairs(split(cookies:sub(2), "&")) do
		txn.http:res_add_header("set-cookie", decode(value))
	end
end

local function change_backend(txn)
	if not txn:get_var("txn.made") then
		change_names(txn.http, split(txn:get_var("txn.g") or "", "|"))
	end
end

local function change(txn)
	add_cookies(txn)
	for _, text in ipairs(split(txn:get_var("txn.answer") or "", "&")) do
		local action, name, value = text:match("^(%a)([^;]*);(.*)$")
		if action then
			actions[action](txn.http, decode(name), decode(value))
		end
	end
end

-- An error would be one of the rule.
local function change_answer(txn)
	local is_good, problem = pcall(change, txn)
	if not is_good then
		core.Warning("sluice: headers of an answer: " .. tostring(problem))
	end
	return is_good
end

-- ---- answers of rules ----

-- For all scripts. Without a text there is no type of one, either. `headers` are further ones: a list of { name, value }.
local function send(applet, status, text, headers)
	applet:set_var("txn.made", "yes")
	applet:set_status(status)
	for _, header in ipairs(headers or {}) do
		applet:add_header(header[1], header[2])
	end
	local has_body = status ~= 204 and status ~= 205 and status ~= 304
	if has_body and text then
		applet:add_header("content-type", "text/plain")
	end
	if has_body then
		applet:add_header("content-length", tostring(#(text or "")))
	end
	applet:start_response()
	if applet.method ~= "HEAD" and text and #text ~= 0 then
		applet:send(text)
	end
end

sluice.send = send

local function answer(applet)
	local fields = split(applet:get_var("txn.r"), "|")
	send(applet, tonumber(fields[4]), decode(fields[5]))
end

local function refuse(applet)
	send(applet, tonumber(applet:get_var("txn.c")), "too many requests\n")
end

if core.thread == 0 then
	core.register_action("sluice_change_backend", {"http-res"}, change_backend)
	core.register_fetches("sluice_change_answer", change_answer)
else
	core.register_service("sluice_answer", "http", answer)
	core.register_service("sluice_refuse", "http", refuse)
end
