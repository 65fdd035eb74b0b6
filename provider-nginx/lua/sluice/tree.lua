-- SPDX-License-Identifier: Apache-2.0
-- Trees of texts (provider-nginx/tree_text.h): a list is its items in parentheses with commas between them. No I/O.
local _M = {}

local find, sub, byte, char, gsub = string.find, string.sub, string.byte, string.char, string.gsub
local OPEN, CLOSE = 40, 41
local DEPTH_MAX = 16

local function plain(text)
	if not find(text, "%", 1, true) then
		return text
	end
	return (gsub(text, "%%(%x%x)", function(digits) return char(tonumber(digits, 16)) end))
end

-- The list that the text is; nil when it is none.
function _M.parse(text)
	local stack, depth = {}, 0
	local list, root
	local at, is_item_due = 1, true
	while true do
		local stop = find(text, "[(),]", at)
		if not stop then
			return nil
		end
		local mark = byte(text, stop)
		if mark == OPEN then
			if stop ~= at or root or depth == DEPTH_MAX then
				return nil
			end
			depth = depth + 1
			stack[depth], list = list or false, {}
		else
			if not list then
				return nil
			end
			-- What is empty between commas is an empty text; an empty list has none.
			if is_item_due and (stop > at or mark ~= CLOSE or #list > 0) then
				list[#list + 1] = plain(sub(text, at, stop - 1))
			end
			if mark == CLOSE then
				local parent = stack[depth]
				depth = depth - 1
				if parent then
					parent[#parent + 1] = list
				else
					root = list
				end
				list = parent
			end
		end
		at, is_item_due = stop + 1, mark ~= CLOSE
		if root then
			return at > #text and root or nil
		end
	end
end

-- Of a list of lists: by the first item of each, the last one that has it.
function _M.by_word(list)
	local found = {}
	for _, item in ipairs(list) do
		found[item[1]] = item
	end
	return found
end

return _M
