-- SPDX-License-Identifier: Apache-2.0
-- Paths and arguments as what they stand for (PROTOCOL.md, `decoded` and conditions). All of it is linear. No I/O.
local _M = {}

local find, sub, byte, char, gsub, format = string.find, string.sub, string.byte, string.char, string.gsub, string.format
local concat = table.concat

local function to_byte(digits)
	return char(tonumber(digits, 16))
end

-- With `%XX` as the byte that it stands for.
function _M.plain(text)
	return (gsub(text, "%%(%x%x)", to_byte))
end

-- Of an argument's name or value: `%XX` and `+`.
function _M.argument(text)
	if not find(text, "[%%+]") then
		return text
	end
	return (gsub(gsub(text, "%+", " "), "%%(%x%x)", to_byte))
end

-- The elements of a path that begins with a slash, without repeated slashes, `.` and `..`; nil above the root.
local function resolve(path)
	local elements, count, at, is_open = {}, 0, 2, false
	while at <= #path do
		local slash = find(path, "/", at, true)
		local element = sub(path, at, slash and slash - 1 or -1)
		if element == ".." then
			if count == 0 then
				return nil
			end
			count = count - 1
			is_open = false
		elseif element ~= "" and element ~= "." then
			count = count + 1
			elements[count] = element
			is_open = not slash
		end
		if not slash then
			break
		end
		at = slash + 1
	end
	if count == 0 then
		return "/"
	end
	return "/" .. concat(elements, "/", 1, count) .. (is_open and "" or "/")
end

-- The path that was meant; nil: nobody may send such.
function _M.path(path)
	if find(path, "%", 1, true) then
		if find(path, "%%00") or find(gsub(path, "%%%x%x", ""), "%", 1, true) then
			return nil
		end
		path = gsub(path, "%%(%x%x)", to_byte)
	end
	if not find(path, "//", 1, true) and not find(path, "/.", 1, true) then
		return path
	end
	return byte(path) == 47 and resolve(path) or nil
end

-- Such a path as rows have it (routes.h): blanks, control bytes and `%` encoded.
function _M.encode(path)
	if not find(path, "[%z\1-\32\127%%]") then
		return path
	end
	return (gsub(path, "[%z\1-\32\127%%]", function(c) return format("%%%02X", byte(c)) end))
end

return _M
