-- SPDX-License-Identifier: Apache-2.0
-- Which rows have changed, for what workers keep of them: each remembers what it has looked up, and forgets what a batch has changed, and no more.
--
-- `!version` is even between batches and odd while one is being taken; one read of it a request tells whether what a worker keeps is what
-- is so. `!changed:N` holds the version after a batch and the keys of its rows, or `*` for everything, of the last SLOTS batches. While a batch is being taken
-- nothing that is kept counts: rows are read in the order in which they change. No row that is not there is ever remembered.
local _M = { VERSION = "!version" }

local SLOTS = 64
local KEYS_LEN_MAX = 32768 -- of a batch; with more of them everything is forgotten
local VERSION = _M.VERSION

local dict = ngx.shared.sluice
local find, gmatch, sub = string.find, string.gmatch, string.sub
local seen -- version of what this worker keeps
local listeners, all_listeners = {}, {}
local keys, key_count, keys_len, is_all = {}, 0, 0, false -- of the batch that is being taken

-- Calls on_key(key) for each row that has changed, on_all() when that may be any.
function _M.subscribe(on_key, on_all)
	listeners[#listeners + 1] = on_key
	all_listeners[#all_listeners + 1] = on_all
end

-- Before the rows of a batch are changed. nil and why not.
function _M.begin()
	local version = dict:get(VERSION) or 0
	-- Odd: whoever took the last one has died over it, and nobody knows what it had changed.
	is_all = version % 2 == 1
	keys, key_count, keys_len = {}, 0, 0
	return dict:safe_set(VERSION, version + (is_all and 2 or 1))
end

-- The row is being set or deleted.
function _M.note(key)
	keys_len = keys_len + #key + 1
	is_all = is_all or find(key, "\n", 1, true) ~= nil
	if keys_len <= KEYS_LEN_MAX then
		key_count = key_count + 1
		keys[key_count] = key
	end
end

-- Behind the rows, also when not all of them could be set.
function _M.finish()
	local version = (dict:get(VERSION) or 0) + 1
	local slot = "!changed:" .. version / 2 % SLOTS
	local is_whole = is_all or keys_len > KEYS_LEN_MAX
	if not dict:safe_set(slot, version .. "\n" .. (is_whole and "*" or table.concat(keys, "\n"))) then
		dict:delete(slot)
	end
	keys = {}
	dict:safe_set(VERSION, version)
end

local function forget_all()
	for _, call in ipairs(all_listeners) do
		call()
	end
end

-- False: nobody knows any more which they were.
local function forget_changed(version)
	local text = dict:get("!changed:" .. version / 2 % SLOTS)
	local head = version .. "\n"
	if not text or sub(text, 1, #head) ~= head or sub(text, #head + 1) == "*" then
		return false
	end
	for key in gmatch(sub(text, #head + 1), "[^\n]+") do
		for _, call in ipairs(listeners) do
			call(key)
		end
	end
	return true
end

local function catch_up(version)
	local from = seen
	seen = version
	if not from or version < from or version - from > 2 * SLOTS then
		return forget_all()
	end
	for each = from + 2, version, 2 do
		if not forget_changed(each) then
			return forget_all()
		end
	end
end

-- Whether what is kept counts; what does not any more has been forgotten then.
function _M.is_settled()
	local version = dict:get(VERSION) or 0
	if version == seen then
		return true
	end
	if version % 2 == 1 then
		return false
	end
	catch_up(version)
	return true
end

-- Whether no batch has begun since is_settled() was true: what was read from the dictionary meanwhile belongs together.
function _M.is_same()
	return dict:get(VERSION) == seen
end

-- In the master, so that later writes need no memory. Whether it is the first time in this dictionary.
function _M.init()
	return dict:safe_add(VERSION, 0)
end

return _M
