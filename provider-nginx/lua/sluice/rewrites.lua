-- SPDX-License-Identifier: Apache-2.0
-- What a backend says of itself in Location, Refresh and Set-Cookie, as it is from outside (PROTOCOL.md, section 5.3, step 18). Lines stay as many and in their order.
local trim = require("sluice.asked").trim

local _M = {}

local byte, find, gsub, lower, sub, concat = string.byte, string.find, string.gsub, string.lower, string.sub, table.concat
local DOT = 46
local VALUES_MAX = 100 -- that ngx.header tells of one name

-- Of a list { word, from, to, from, to ... }, where { "pattern", from } is found anywhere, each dot fits any byte, and the whole becomes `to`.
function _M.parse(list)
	local changes = {}
	for i = 2, #list, 2 do
		local from = list[i]
		local pattern = type(from) == "table" and gsub(from[2], "[^%w.]", "%%%0") or nil
		changes[#changes + 1] = { from = not pattern and from or nil, pattern = pattern, to = list[i + 1] }
	end
	return changes
end

local function without_dot(domain)
	return byte(domain) == DOT and sub(domain, 2) or domain
end

-- Likewise: domains without the dot that may stand before them, and without case.
function _M.parse_domains(list)
	local changes = _M.parse(list)
	for _, change in ipairs(changes) do
		if change.pattern then
			change.pattern = lower(change.pattern)
		else
			change.from, change.to = lower(without_dot(change.from)), without_dot(change.to)
		end
	end
	return changes
end

-- nil: none fits.
local function changed_start(text, changes)
	for i = 1, #changes do
		local from, pattern = changes[i].from, changes[i].pattern
		if pattern then
			if find(text, pattern) then
				return changes[i].to
			end
		elseif sub(text, 1, #from) == from then
			return changes[i].to .. sub(text, #from + 1)
		end
	end
end

local function changed_domain(text, changes)
	local plain = lower(without_dot(text))
	for i = 1, #changes do
		if changes[i].pattern then
			if find(lower(text), changes[i].pattern) then
				return changes[i].to
			end
		elseif plain == changes[i].from then
			return (byte(text) == DOT and "." or "") .. changes[i].to
		end
	end
end

-- The attribute as it will be, or nil.
local function changed_attribute(attribute, policy)
	local equals = find(attribute, "=", 1, true)
	local name = equals and lower(trim(sub(attribute, 1, equals - 1)))
	local value
	if name == "path" and policy.cookie_paths then
		value = changed_start(trim(sub(attribute, equals + 1)), policy.cookie_paths)
	elseif name == "domain" and policy.cookie_domains then
		value = changed_domain(trim(sub(attribute, equals + 1)), policy.cookie_domains)
	end
	return value and sub(attribute, 1, equals) .. value
end

-- The value of a Set-Cookie as it will be. A semicolon ends an attribute also where there are quotes: that is how browsers read it.
function _M.cookie(line, policy)
	local at = find(line, ";", 1, true)
	local parts, count, kept_from = {}, 0, 1
	while at do
		local stop = find(line, ";", at + 1, true) or #line + 1
		local attribute = changed_attribute(sub(line, at + 1, stop - 1), policy)
		if attribute then
			parts[count + 1], parts[count + 2] = sub(line, kept_from, at), attribute
			count, kept_from = count + 2, stop
		end
		at = stop <= #line and stop or nil
	end
	return count > 0 and concat(parts) .. sub(line, kept_from) or line
end

function _M.location(value, policy)
	return changed_start(value, policy.location_changes) or value
end

-- What follows the first `url=`, without case, as nginx finds it.
function _M.refresh(value, policy)
	local _, stop = find(lower(value), "url=", 1, true)
	local url = stop and changed_start(sub(value, stop + 1), policy.location_changes)
	return url and sub(value, 1, stop) .. url or value
end

-- All values of a header of the answer: nil, a text, or a table of several.
function _M.values(name)
	local values = ngx.header[name]
	if type(values) == "table" and #values >= VALUES_MAX then
		return ngx.resp.get_headers(0)[name]
	end
	return values
end

-- Nothing is written that stays as it is.
local function change(name, call, policy)
	local values = _M.values(name)
	if type(values) ~= "table" then
		local value = values and call(values, policy)
		if value ~= values then
			ngx.header[name] = value
		end
		return
	end
	local is_changed = false
	for i = 1, #values do
		local value = call(values[i], policy)
		is_changed = is_changed or value ~= values[i]
		values[i] = value
	end
	if is_changed then
		ngx.header[name] = values
	end
end

-- In the header filter, before anything of ours is in the answer.
function _M.change(policy)
	if policy.location_changes then
		change("Location", _M.location, policy)
		change("Refresh", _M.refresh, policy)
	end
	if policy.cookie_domains or policy.cookie_paths then
		change("Set-Cookie", _M.cookie, policy)
	end
end

return _M
