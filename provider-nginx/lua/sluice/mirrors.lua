-- SPDX-License-Identifier: Apache-2.0
-- Step 15 of section 5.3 of PROTOCOL.md: copies of requests, sent by timers of their own, so that nothing that becomes of them has to do with the answer. There are bounds of those
-- under way, and of what is kept of a body; what goes beyond them is not copied.
local bound = require("sluice.bound")
local pieces = require("sluice.pieces")
local question = require("sluice.question")

local _M = {}

local random = math.random
local BODY_MAX = 65536
local EMPTY = { GET = true, HEAD = true, OPTIONS = true, TRACE = true } -- over HTTP/2 one cannot tell until the end has come
local LASTS_S = 60
local OF_ONE_MAX = 32 -- copies for one mirror, so that one who does not answer takes none of another's
local under_way = bound.new(256, LASTS_S) -- of a worker

local function read_file(name)
	local file = name and io.open(name, "rb")
	local bytes = file and file:read(BODY_MAX + 1)
	if file then
		file:close()
	end
	return bytes
end

-- The body, empty without one; nil: it is longer than is kept, or nobody knows how long it is.
local function body_of(var)
	local length = tonumber(var.http_content_length)
	if not length then
		local is_unknown = var.http_transfer_encoding or (var.server_protocol == "HTTP/2.0" and not EMPTY[var.request_method])
		return not is_unknown and "" or nil
	end
	if length == 0 or length > BODY_MAX then
		return length == 0 and "" or nil
	end
	ngx.req.read_body()
	return ngx.req.get_body_data() or read_file(ngx.req.get_body_file())
end

local function leave(mirror, own, token)
	mirror.under_way.leave(own)
	under_way.leave(token)
end

local function run(is_premature, copy, mirror, own, token)
	if not is_premature then
		question.ask(copy, true)
	end
	leave(mirror, own, token)
end

local function send(mirror, copy)
	local own = mirror.under_way.enter()
	local token = own and under_way.enter()
	if not token then
		return own and mirror.under_way.leave(own)
	end
	if not ngx.timer.at(0, run, copy, mirror, own, token) then
		leave(mirror, own, token)
	end
end

local function is_drawn(mirror)
	return not mirror.share or random(1, mirror.of) <= mirror.share
end

-- Copies for those mirrors whose lot it is. `headers_of` makes those of the copy, without Host; `target` is what the backend is asked for.
function _M.send(asked, mirrors, headers_of, target)
	local var, list, body = ngx.var, nil, nil
	for _, mirror in ipairs(mirrors) do
		if is_drawn(mirror) then
			list = list or headers_of(asked)
			body = body or (not mirror.without_body and body_of(var)) or nil
			if body or mirror.without_body then
				send(mirror, {
					pool = mirror.pool, method = var.request_method, host = mirror.host and mirror.host(asked) or asked.header, headers = list,
					target = mirror.target and pieces.to_target(mirror.target(asked)) or target,
					body = not mirror.without_body and body ~= "" and body or nil,
				})
			end
		end
	end
end

-- As the row of a policy has it.
function _M.parse(words, parts)
	local share = words.share
	return {
		pool = words.pool and words.pool[2] or "", host = parts.text(words.host), target = parts.text(words.target), without_body = words.without_body ~= nil,
		share = share and tonumber(share[2]), of = share and tonumber(share[3]), under_way = bound.new(OF_ONE_MAX, LASTS_S),
	}
end

return _M
