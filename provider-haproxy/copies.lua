-- SPDX-License-Identifier: Apache-2.0
-- Behind asking.lua: step 15 of section 5.3 of PROTOCOL.md, others get copies of requests. Tasks of their own send them, by the frontend `questions`, so that nothing
-- that becomes of them has to do with the answer. There is a bound of those under way; of a body only what fits a buffer with the head is at hand, and what is longer
-- is not copied.
local split, decode, encode_text, value_of = sluice.split, sluice.decode, sluice.encode_text, sluice.value_of
local ways = sluice.ways

local body_max = 12288
local first_field = 30 -- of a policy's row
local empty = {GET = true, HEAD = true, OPTIONS = true} -- over HTTP/2 one cannot tell until the end has come

-- 0: there is none; nil: nobody knows, or more than is kept.
local function body_length(txn)
	local headers = txn.http:req_get_headers()
	local length = headers["content-length"] and tonumber(headers["content-length"][0])
	if not length and (headers["transfer-encoding"] or not empty[txn.f:method()]) then
		return nil
	end
	return (length or 0) <= body_max and (length or 0) or nil
end

-- Which are copied, by lot, before the request is changed.
local function draw(txn)
	local fields, made = sluice.fields_of(txn:get_var("txn.g")), {}
	local length = body_length(txn)
	for i = first_field, #fields do
		local pool, host, target, without, share, of = fields[i]:match("^(%w+);([^;]*);([^;]*);(b?);(%d+);(%d+)$")
		local is_drawn = pool and (share == "0" or math.random(1, tonumber(of)) <= tonumber(share))
		if is_drawn and (without ~= "" or length) then
			local name = host ~= "" and value_of(txn, host) or txn:get_var("txn.n") or ""
			local path = target ~= "" and ways.target_of(value_of(txn, target)) or ""
			made[#made + 1] = table.concat({pool, encode_text(name), encode_text(path), without}, ";")
			if without == "" and length > 0 then
				txn:set_var("txn.copied", tostring(length))
			end
		end
	end
	if #made ~= 0 then
		txn:set_var("txn.copies", table.concat(made, "&"))
	end
end

local function send(question, key, token)
	local socket = core.tcp()
	pcall(ways.talk, socket, question)
	socket:close()
	ways.leave(key, token)
end

-- What the backend is asked for.
local function target_of(txn)
	local path = txn:get_var("txn.later_path")
	return path and path .. ((txn.f:pathq() or ""):match("%?.*$") or "") or txn.f:pathq() or "/"
end

local function head_of(txn, copy, list, length)
	local lines = {txn.f:method() .. " " .. (copy.target ~= "" and copy.target or target_of(txn)) .. " HTTP/1.0", "host: " .. copy.host, "sluice-pool: " .. copy.pool}
	for _, pair in ipairs(list) do
		lines[#lines + 1] = pair[1] .. ": " .. pair[2]
	end
	if length ~= 0 or not empty[txn.f:method()] then
		lines[#lines + 1] = "content-length: " .. length
	end
	return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

local function mirror(txn)
	local length = tonumber(txn:get_var("txn.copied") or "0")
	local body = length ~= 0 and txn.f:req_body() or ""
	local list = ways.change(txn, ways.headers_of(txn), "", txn:get_var("txn.later") or "")
	local key = "copies " .. txn:get_var("txn.y")
	for _, text in ipairs(split(txn:get_var("txn.copies"), "&")) do
		local pool, host, target, without = text:match("^([^;]*);([^;]*);([^;]*);(b?)$")
		local copy = {pool = pool, host = decode(host), target = decode(target)}
		local own = without == "" and body or ""
		local is_whole = without ~= "" or #body == length
		local token = is_whole and copy.host ~= "" and not copy.host:find("[%s%c]") and ways.enter(key)
		if token then
			local question = head_of(txn, copy, list, #own) .. own
			core.register_task(function()
				send(question, key, token)
			end)
		end
	end
end

if core.thread == 0 then
	core.register_action("sluice_draw", {"http-req"}, draw)
	core.register_action("sluice_mirror", {"http-req"}, mirror)
end
