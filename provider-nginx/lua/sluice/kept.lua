-- SPDX-License-Identifier: Apache-2.0
-- What each worker keeps of rows that are parsed: by key, until a batch changes the row (changes.lua). Rows that are not there leave nothing behind.
local changes = require("sluice.changes")
local store = require("sluice.store")

local _M = {}

local sub = string.sub
local KEPT_MAX = 20000

-- `parse(text, name)` makes of a row under `prefix` and a name what get(name, is_settled) returns: nil for a row that is not there, or that cannot be parsed.
-- `is_settled`: changes.is_settled() has just been true.
function _M.new(prefix, parse)
	local items, count = {}, 0

	local function forget(name)
		if items[name] then
			items[name], count = nil, count - 1
		end
	end

	local function forget_all()
		items, count = {}, 0
	end

	changes.subscribe(function(key)
		if sub(key, 1, #prefix) == prefix then
			forget(sub(key, #prefix + 1))
		end
	end, forget_all)

	local function read(name, keep)
		local text = store.get(prefix .. name)
		local value = text and parse(text, name)
		-- What is read while a batch is being taken may be gone by the end of it.
		if value and keep and changes.is_same() then
			if count >= KEPT_MAX then
				forget_all()
			end
			if not items[name] then
				count = count + 1
			end
			items[name] = value
		end
		return value
	end

	return function(name, is_settled)
		local item = is_settled and items[name]
		if item then
			return item
		end
		local keep = changes.is_settled()
		return keep and items[name] or read(name, keep)
	end
end

return _M
