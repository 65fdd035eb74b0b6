-- SPDX-License-Identifier: Apache-2.0
-- find, match, gmatch and gsub of Lua 5.1 (reference manual, section 5.4.1) written in Lua, so that a hook that counts instructions counts the steps
-- of a pattern, too: in the real ones these are steps of C, which no hook sees. What our modules do not use is left out: %b, %f, gsub with tables.
local byte, sub = string.byte, string.sub
local CARET, DOLLAR, PERCENT, DOT, OPEN, CLOSE, SET, SET_END, MINUS, STAR, PLUS, QUESTION = 94, 36, 37, 46, 40, 41, 91, 93, 45, 42, 43, 63

local function between(c, low, high)
	return c >= low and c <= high
end

local classes = {
	a = function(c) return between(c, 65, 90) or between(c, 97, 122) end,
	d = function(c) return between(c, 48, 57) end,
	l = function(c) return between(c, 97, 122) end,
	s = function(c) return c == 32 or between(c, 9, 13) end,
	u = function(c) return between(c, 65, 90) end,
	w = function(c) return between(c, 48, 57) or between(c, 65, 90) or between(c, 97, 122) end,
	x = function(c) return between(c, 48, 57) or between(c, 65, 70) or between(c, 97, 102) end,
	z = function(c) return c == 0 end,
}
for name, is_in in pairs({ a = classes.a, d = classes.d, l = classes.l, s = classes.s, u = classes.u, w = classes.w, x = classes.x }) do
	classes[string.upper(name)] = function(c) return not is_in(c) end
end

local function is_of_class(c, class)
	local is_in = classes[string.char(class)]
	if is_in then
		return is_in(c)
	end
	assert(not between(class, 48, 57) and class ~= 98 and class ~= 102, "not in this subset")
	return c == class
end

-- Where the item ends that begins at p.
local function item_end(pattern, p)
	local c = byte(pattern, p)
	if c == PERCENT then
		return p + 2
	end
	if c ~= SET then
		return p + 1
	end
	p = p + (byte(pattern, p + 1) == CARET and 2 or 1)
	repeat
		p = p + (byte(pattern, p) == PERCENT and 2 or 1)
	until byte(pattern, p) == SET_END
	return p + 1
end

local function is_in_set(c, pattern, p, last)
	local wanted = true
	p = p + 1
	if byte(pattern, p) == CARET then
		wanted, p = false, p + 1
	end
	while p < last do
		local from = byte(pattern, p)
		if from == PERCENT then
			if is_of_class(c, byte(pattern, p + 1)) then
				return wanted
			end
			p = p + 2
		elseif byte(pattern, p + 1) == MINUS and p + 2 < last then
			if between(c, from, byte(pattern, p + 2)) then
				return wanted
			end
			p = p + 3
		else
			if c == from then
				return wanted
			end
			p = p + 1
		end
	end
	return not wanted
end

local function fits(text, s, pattern, p, behind)
	local c = byte(text, s)
	if not c then
		return false
	end
	local kind = byte(pattern, p)
	if kind == DOT then
		return true
	elseif kind == PERCENT then
		return is_of_class(c, byte(pattern, p + 1))
	elseif kind == SET then
		return is_in_set(c, pattern, p, behind - 1)
	end
	return c == kind
end

local step

local function most(text, s, pattern, p, behind, captures)
	local count = 0
	while fits(text, s + count, pattern, p, behind) do
		count = count + 1
	end
	for i = count, 0, -1 do
		local found = step(text, s + i, pattern, behind + 1, captures)
		if found then
			return found
		end
	end
	return nil
end

local function least(text, s, pattern, p, behind, captures)
	while true do
		local found = step(text, s, pattern, behind + 1, captures)
		if found or not fits(text, s, pattern, p, behind) then
			return found
		end
		s = s + 1
	end
end

local function capture(text, s, pattern, p, captures)
	local found
	if byte(pattern, p) == OPEN then
		captures[#captures + 1] = { from = s }
		found = step(text, s, pattern, p + 1, captures)
		if not found then
			captures[#captures] = nil
		end
		return found
	end
	local open = #captures
	while captures[open].last do
		open = open - 1
	end
	captures[open].last = s - 1
	found = step(text, s, pattern, p + 1, captures)
	if not found then
		captures[open].last = nil
	end
	return found
end

-- Where the match of pattern[p..] at s ends (the byte behind it), or nil.
function step(text, s, pattern, p, captures)
	while p <= #pattern do
		local c = byte(pattern, p)
		if c == OPEN or c == CLOSE then
			return capture(text, s, pattern, p, captures)
		elseif c == DOLLAR and p == #pattern then
			return s == #text + 1 and s or nil
		end
		local behind = item_end(pattern, p)
		local suffix = byte(pattern, behind)
		if suffix == STAR then
			return most(text, s, pattern, p, behind, captures)
		elseif suffix == PLUS then
			return fits(text, s, pattern, p, behind) and most(text, s + 1, pattern, p, behind, captures) or nil
		elseif suffix == MINUS then
			return least(text, s, pattern, p, behind, captures)
		elseif suffix == QUESTION then
			local found = fits(text, s, pattern, p, behind) and step(text, s + 1, pattern, behind + 1, captures)
			if found then
				return found
			end
			p = behind + 1
		elseif fits(text, s, pattern, p, behind) then
			s, p = s + 1, behind
		else
			return nil
		end
	end
	return s
end

local function values(text, first, behind, captures, is_find)
	local list = {}
	for i, one in ipairs(captures) do
		list[i] = sub(text, one.from, one.last)
	end
	if #list == 0 and not is_find then
		list[1] = sub(text, first, behind - 1)
	end
	return unpack(list)
end

-- The first match from `from` on: where it begins, the byte behind it, captures.
local function search(text, pattern, from)
	local is_anchored = byte(pattern) == CARET
	for s = from, is_anchored and from or #text + 1 do
		local captures = {}
		local behind = step(text, s, pattern, is_anchored and 2 or 1, captures)
		if behind then
			return s, behind, captures
		end
	end
	return nil
end

local _M = {}

function _M.find(text, pattern, from, is_plain)
	from = from or 1
	if is_plain then
		for s = from, #text - #pattern + 1 do
			local i = 1
			while i <= #pattern and byte(text, s + i - 1) == byte(pattern, i) do
				i = i + 1
			end
			if i > #pattern then
				return s, s + #pattern - 1
			end
		end
		return nil
	end
	local s, behind, captures = search(text, pattern, from)
	if not s then
		return nil
	end
	return s, behind - 1, values(text, s, behind, captures, true)
end

function _M.match(text, pattern, from)
	local s, behind, captures = search(text, pattern, from or 1)
	if not s then
		return nil
	end
	return values(text, s, behind, captures)
end

function _M.gmatch(text, pattern)
	local at = 1
	return function()
		local s, behind, captures = search(text, pattern, at)
		if not s then
			return nil
		end
		at = behind > s and behind or behind + 1
		return values(text, s, behind, captures)
	end
end

function _M.gsub(text, pattern, with, most_times)
	local pieces, at, count = {}, 1, 0
	while count < (most_times or #text + 1) do
		local s, behind, captures = search(text, pattern, at)
		if not s then
			break
		end
		count = count + 1
		pieces[#pieces + 1] = sub(text, at, s - 1) .. (type(with) == "function" and with(values(text, s, behind, captures, false)) or with)
		at = behind > s and behind or behind + 1
	end
	return table.concat(pieces) .. sub(text, at), count
end

return _M
