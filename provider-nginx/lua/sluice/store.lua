-- SPDX-License-Identifier: Apache-2.0
-- What nginx knows: rows of key and value in a dictionary that all workers share, fed in batches.
--
-- A batch is a head line of HEAD_LEN bytes and rows:
--
--   SLN1 F BBBBBBBBBBBBBBBB SSSSSSSSSSSSSSSS LLLLLLLL M{32}\n
--
-- F: one hexadecimal digit, 1 = first piece of a whole state, 2 = last piece of a whole state, 3 = both, 0 = change.
-- B: serial that the state must have (changes and later pieces). S: serial that it has afterwards. L: bytes of rows. M: MD5 of them.
-- A row is one byte `S` (set) or `D` (delete), two bytes length of the key, four bytes length of the value, key, value.
--
-- The same batches stand one after the other in the state file, so a start without anybody else brings back the last state.
-- A whole state that comes in pieces overwrites row by row what is served; what was not repeated goes with the last piece.
--
-- Keys that begin with `!` are no rows. `!shape:HOST` tells how the paths of a host are to be looked up: its value is how many rows they have, its
-- flags are twice the number of slashes of the deepest prefix, and one more if some are found by their whole key.
local bit = require("bit")
local changes = require("sluice.changes")

local _M = { HEAD_LEN = 83, SERIAL = "!serial", GENERATION = "!generation", DEPTH = "!depth", LONGEST = "!longest", SHAPES = "!shapes" }

local ROW_HEAD_LEN = 7
local KEY_LEN_MAX = 65535
local FIRST, LAST = 1, 2
local NONE = ("0"):rep(16)
local HALF = ("f"):rep(16)

local dict = ngx.shared.sluice
local byte, find, sub, match, gsub = string.byte, string.find, string.sub, string.match, string.gsub
local band, bor = bit.band, bit.bor
local WHOLE, PREFIX = 87, 80 -- with which keys of routes begin

-- The head as a table, or nil and what is wrong.
function _M.read_head(text)
	local flags, base, serial, length, digest =
		match(text, "^SLN1 (%x) (" .. ("%x"):rep(16) .. ") (" .. ("%x"):rep(16) .. ") (" .. ("%x"):rep(8) .. ") (" ..
			("%x"):rep(32) .. ")\n")
	if not flags then
		return nil, "no batch"
	end
	return {
		flags = tonumber(flags, 16),
		base = base,
		serial = serial,
		length = tonumber(length, 16),
		digest = digest,
	}
end

-- Calls row(op, key, value) for each row of text[from..]; false and what is wrong when they do not come out even.
local function each_row(text, from, row)
	local at, last = from, #text
	while at <= last do
		if at + ROW_HEAD_LEN - 1 > last then
			return false, "a row is cut off"
		end
		local op, k1, k2, v1, v2, v3, v4 = byte(text, at, at + ROW_HEAD_LEN - 1)
		local key_from = at + ROW_HEAD_LEN
		local value_from = key_from + k1 * 256 + k2
		local behind = value_from + ((v1 * 256 + v2) * 256 + v3) * 256 + v4
		if behind - 1 > last then
			return false, "a row is cut off"
		end
		if op ~= 83 and op ~= 68 then
			return false, "a row is neither set nor delete"
		end
		local ok, problem = row(op, sub(text, key_from, value_from - 1), sub(text, value_from, behind - 1))
		if not ok then
			return false, problem
		end
		at = behind
	end
	return true
end

local function check(head, text, from)
	if #text - from + 1 ~= head.length then
		return false, "the length is wrong"
	end
	if ngx.md5(from == 1 and text or sub(text, from)) ~= head.digest then
		return false, "the digest is wrong"
	end
	return each_row(text, from, function() return true end)
end

-- The name of a host in the key of one of its paths' rows, or nil.
local function host_in(key)
	local first = byte(key)
	local slash = (first == WHOLE or first == PREFIX) and find(key, "/", 2, true)
	return slash and sub(key, 2, slash - 1) or nil
end

local function slashes_in(key)
	local _, count = gsub(key, "/", "/")
	return count
end

-- Whether all rows are in the shapes: not so while a batch is being taken, nor when one has been taken by a worker from before a reload whose version
-- knew no shapes.
local function are_shapes_whole()
	return dict:get(_M.SHAPES) == _M.serial()
end

-- Before the row is there. One that is there is in the shape already.
local function note_path(key)
	local host = host_in(key)
	if not host or not dict:get(_M.SHAPES) or dict:get(key) then
		return true
	end
	local shape = "!shape:" .. host
	local count, flags = dict:get(shape)
	flags = flags or 0
	if byte(key) == WHOLE then
		flags = bor(flags, 1)
	else
		flags = math.max(flags, slashes_in(key) * 2 + band(flags, 1))
	end
	return dict:safe_set(shape, (count or 0) + 1, 0, flags)
end

-- The last row of a host takes its shape along. Otherwise the shape stays as it is: it tells how deep and whole keys may be, not that they are.
local function forget_row(key)
	local host = host_in(key)
	local shape = host and "!shape:" .. host
	local count, flags
	if shape and dict:get(key) then
		count, flags = dict:get(shape)
	end
	dict:delete(key)
	changes.note(key)
	if count and count > 1 then
		dict:safe_set(shape, count - 1, 0, flags)
	elseif count then
		dict:delete(shape)
	end
end

-- A path is looked up element by element, but neither further than any row goes nor with more bytes than any has.
local function note_bounds(key)
	if #key > _M.longest() then
		local ok, problem = dict:safe_set(_M.LONGEST, #key)
		if not ok then
			return false, problem
		end
	end
	if byte(key) == PREFIX and slashes_in(key) > _M.depth() then
		return dict:safe_set(_M.DEPTH, slashes_in(key))
	end
	return true
end

local function put(op, key, value, generation)
	if op == 68 then
		forget_row(key)
		return true
	end
	changes.note(key)
	local ok, problem = note_path(key)
	if ok then
		-- safe_set never makes room by throwing out another row.
		ok, problem = dict:safe_set(key, value, 0, generation)
	end
	if not ok then
		return false, problem
	end
	return note_bounds(key)
end

-- Forgets every row that the whole state of this generation did not repeat.
local function sweep(generation)
	for _, key in ipairs(dict:get_keys(0)) do
		if byte(key) ~= 33 then
			local _, flags = dict:get(key)
			if flags ~= generation then
				forget_row(key)
			end
		end
	end
end

-- The rows of a batch that has been found good, which begins or ends a whole state or not. nil, or an HTTP status and what is wrong.
local function take_rows(head, text, from, generation)
	-- Whoever has ended over a batch has kept them up to there.
	if _M.serial() ~= HALF and not are_shapes_whole() then
		dict:delete(_M.SHAPES)
	end
	-- Half a batch must not pass for a whole one if this ends in between.
	dict:safe_set(_M.SERIAL, HALF)
	local ok, problem = each_row(text, from, function(op, key, value)
		return put(op, key, value, generation)
	end)
	if not ok then
		return 507, problem
	end
	if band(head.flags, LAST) ~= 0 then
		sweep(generation)
	end
	if dict:get(_M.SHAPES) then
		dict:safe_set(_M.SHAPES, head.serial)
	end
	ok, problem = dict:safe_set(_M.SERIAL, head.serial)
	if not ok then
		return 507, problem
	end
end

-- Takes the batch whose rows stand in text[from..]. nil, or an HTTP status and what is wrong.
local function take(head, text, from)
	local ok, problem = check(head, text, from)
	if not ok then
		return 400, problem
	end
	local is_first = band(head.flags, FIRST) ~= 0
	local generation = dict:get(_M.GENERATION) or 1
	if is_first then
		generation = generation % 1000000 + 1
		ok, problem = dict:safe_set(_M.GENERATION, generation)
		if not ok then
			return 507, problem
		end
	elseif _M.serial() ~= head.base then
		return 409, "another state is here"
	end
	ok, problem = changes.begin()
	if not ok then
		return 507, problem
	end
	local status
	status, problem = take_rows(head, text, from, generation)
	changes.finish()
	return status, problem
end

-- Takes one batch from the control socket. nil, or an HTTP status and what is wrong.
function _M.apply(text)
	local head, problem = _M.read_head(text)
	if not head then
		return 400, problem
	end
	return take(head, text, _M.HEAD_LEN + 1)
end

local function load_batches(file)
	while true do
		local text = file:read(_M.HEAD_LEN)
		if not text then
			return
		end
		local head, problem = _M.read_head(text)
		local rows = ""
		if head and head.length > 0 then
			rows = file:read(head.length)
		end
		local status
		if head then
			status, problem = take(head, rows or "", 1)
		end
		if not head or status then
			ngx.log(ngx.ERR, "sluice: the state file is good up to a point only: ", problem)
			return
		end
	end
end

-- In the master, before workers are made: at a start the state comes from disk. A reload finds it in the dictionary, which is newer.
function _M.init(path)
	changes.init()
	local serial = dict:get(_M.SERIAL)
	if serial then
		-- It may be of a version that did not note it, nor shapes: those are of the whole state or worth nothing.
		dict:safe_add(_M.LONGEST, KEY_LEN_MAX)
		if dict:get(_M.SHAPES) ~= serial then
			dict:delete(_M.SHAPES)
		end
		return
	end
	dict:safe_set(_M.SHAPES, NONE)
	local file = io.open(path, "rb")
	if not file then
		return
	end
	load_batches(file)
	file:close()
end

function _M.serial()
	return dict:get(_M.SERIAL) or NONE
end

-- Most elements that a row found by prefix has.
function _M.depth()
	return dict:get(_M.DEPTH) or 1
end

-- Bytes of the longest key.
function _M.longest()
	return dict:get(_M.LONGEST) or 0
end

function _M.get(key)
	return dict:get(key)
end

-- How deep the host's prefixes are at most, and whether there may be paths that are found by their whole key.
function _M.shape(host)
	local count, flags
	if are_shapes_whole() then
		count, flags = dict:get("!shape:" .. host)
	end
	if not count then
		return _M.depth(), true
	end
	return math.floor(flags / 2), flags % 2 == 1
end

function _M.room()
	return dict:free_space(), dict:capacity()
end

return _M
