-- SPDX-License-Identifier: Apache-2.0
-- Bodies that are read as a whole before a backend is asked: those that a policy wants to be, and those whose length nobody has told, of requests that may have so many bytes.
-- nginx has no limit of them that varies, but those of locations (nginx.conf.tmpl): such a body is read in the one with the next greater limit, which bounds what is
-- read, and then it is known how long it is.
local _M = { TOO_LONG = 413, TOO_MANY = 503 }

local MB = 1024 * 1024
local CLASSES = { { MB, "@body_1m" }, { 16 * MB, "@body_16m" }, { 256 * MB, "@body_256m" }, { 4096 * MB, "@body_4g" } }
local LAST, LAST_MAX = "@body_64g", 65536 * MB
local KEPT_MAX = 4096 * MB -- of all that a worker has at a time; one alone may be longer
local UNKNOWN_MAX = 256 * MB -- of a body whose length nobody has told, and that nothing bounds, but that has to be there whole
local UNBOUNDED_MAX = 4 -- of such at a time that need not be: they count as UNKNOWN_MAX while they are read, however long they get
local STREAMED = { h2c = true, h2 = true } -- what speaks gRPC waits for answers in the middle of its requests
local kept, unbounded = 0, 0

local function class_of(max)
	for _, class in ipairs(CLASSES) do
		if max <= class[1] then
			return class[2], class[1]
		end
	end
	return LAST, LAST_MAX
end

-- One alone may be longer than all may be together.
local function has_room(room)
	return kept == 0 or kept + room <= KEPT_MAX
end

-- Of a body whose length nobody has told; nil: none.
local function location_of_unknown(asked, max, is_needed)
	local location
	if max or is_needed then
		location, asked.body_room = class_of(max or UNKNOWN_MAX)
		return location
	end
	if unbounded >= UNBOUNDED_MAX or not has_room(UNKNOWN_MAX) then
		return nil
	end
	asked.body_room, asked.is_unbounded = UNKNOWN_MAX, true
	return LAST
end

-- The location by which the request has to go first; nil: none. A body that has to be there whole, or whose limit is not known to be kept, waits for nobody when there is no
-- room (see read()); others are passed on as they come then.
function _M.location_of(asked, pool)
	local policy = asked.policy
	local max, is_needed = policy and policy.body_max_bytes, policy and policy.error_pages
	local is_whole = policy and policy.buffering and policy.buffering.request and (is_needed or not STREAMED[pool.proto])
	if not max and not is_whole then
		return nil
	end
	local var = ngx.var
	local length = tonumber(var.http_content_length)
	if length then
		asked.body_room = length
		return is_whole and length > 0 and (is_needed or has_room(length)) and class_of(length) or nil
	end
	if not var.http_transfer_encoding and var.server_protocol ~= "HTTP/2.0" then
		return nil
	end
	return location_of_unknown(asked, max, is_needed)
end

local function count_unbounded(asked, is_begun)
	if asked.is_unbounded and (asked.counts_unbounded or false) ~= is_begun then
		unbounded, asked.counts_unbounded = unbounded + (is_begun and 1 or -1), is_begun
	end
end

-- In such a location. nil: it is there; otherwise why not, as a status.
function _M.read(asked)
	local room = asked.body_room
	if not has_room(room) then
		return _M.TOO_MANY
	end
	kept, asked.body_kept = kept + room, room
	count_unbounded(asked, true)
	ngx.req.read_body()
	count_unbounded(asked, false)
	-- From now on it is known.
	local length, max = tonumber(ngx.var.content_length) or 0, asked.policy.body_max_bytes
	kept, asked.body_kept = kept - room + length, length
	return max and length > max and _M.TOO_LONG or nil
end

function _M.release(asked)
	count_unbounded(asked, false)
	if asked.body_kept then
		kept, asked.body_kept = kept - asked.body_kept, false
	end
end

return _M
