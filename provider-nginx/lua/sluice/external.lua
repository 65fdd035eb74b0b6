-- SPDX-License-Identifier: Apache-2.0
-- Step 12 of section 5.3 of PROTOCOL.md: another server says whether a request may pass.
local asked_of = require("sluice.asked")
local bound = require("sluice.bound")
local headers = require("sluice.headers")
local pieces = require("sluice.pieces")
local question = require("sluice.question")
local route = require("sluice.route")
local rules = require("sluice.rules")
local uri = require("sluice.uri")
local ffi = require("ffi")

local _M = {}

ffi.cdef "int RAND_bytes(unsigned char *, int);"

local sub, find, match, concat, gmatch = string.sub, string.find, string.match, table.concat, string.gmatch
local UNDER_WAY_MAX, LASTS_S = 256, 20 -- questions of one policy, in a worker
local KEY_LEN = 32
local KEPT_LEN_MAX = 8192 -- of an answer that is remembered
local USUAL_TIMES = { [200] = 300, [202] = 300, [401] = 300 }

-- ---- who is asked ----

-- The pool of the rule of the same host that takes the path.
local function pool_of_target(asked, target)
	local path = uri.path_of(target)
	local key, matched
	if path then
		key, matched = route.find(asked.view, asked.name, path)
	end
	if not key or not route.is_route(key) then
		return key ~= route.BAD and key or nil
	end
	local list = rules.get(key)
	local other = asked_of.new(asked.view, asked.port, asked.header, asked.name, path, matched)
	other.headers, other.arguments = asked.headers, match(target, "%?.*$") or ""
	local rule = list and rules.choose(list, other)
	if rule == rules.LIMIT then
		return nil
	end
	return rule and not rule.is_closed and rules.draw(rule, other)
end

-- ---- the cache: of all workers, under digests with a key that only they have ----

local function secret_of(cache)
	local secret = cache:get("secret")
	if secret then
		return secret
	end
	local bytes = ffi.new("unsigned char[?]", KEY_LEN)
	if ffi.C.RAND_bytes(bytes, KEY_LEN) ~= 1 then
		return nil
	end
	cache:add("secret", ffi.string(bytes, KEY_LEN))
	return cache:get("secret")
end

local function key_of(asked, policy, auth)
	local secret = auth.cache_key and secret_of(ngx.shared.sluice_answers)
	if not secret then
		return nil
	end
	local rule = asked.rule
	local place = rule.place or (rule.rest and sub(asked.key, 1, rule.rest)) or asked.key
	local parts = { policy.name, auth.digest, asked.name, place, auth.cache_key(asked) }
	for i = 1, #parts do
		parts[i] = #parts[i] .. ":" .. parts[i]
	end
	return ngx.hmac_sha1(secret, concat(parts))
end

-- A text: the status, then a line for each value, with the letter of what it is.
local function keep(key, auth, answer)
	local seconds = (auth.cache_times or USUAL_TIMES)[answer.status]
	if not seconds then
		return
	end
	local lines = { tostring(answer.status) }
	for i, value in pairs(answer.copied) do
		lines[#lines + 1] = "c" .. i .. " " .. value
	end
	for _, value in ipairs(answer.cookies) do
		lines[#lines + 1] = "s0 " .. value
	end
	for _, value in ipairs(answer.challenges) do
		lines[#lines + 1] = "w0 " .. value
	end
	local text = concat(lines, "\n")
	if #text <= KEPT_LEN_MAX then
		ngx.shared.sluice_answers:set(key, text, seconds)
	end
end

local function remembered(key)
	local text = ngx.shared.sluice_answers:get(key)
	if not text then
		return nil
	end
	local answer = { status = tonumber(match(text, "^%d+")), copied = {}, cookies = {}, challenges = {} }
	for letter, index, value in gmatch(text, "\n(%l)(%d+) ([^\n]*)") do
		if letter == "c" then
			answer.copied[tonumber(index)] = value
		else
			local list = letter == "s" and answer.cookies or answer.challenges
			list[#list + 1] = value
		end
	end
	return answer
end

-- ---- the question ----

local function own_headers(list, asked)
	local var = ngx.var
	list[#list + 1] = { "X-Forwarded-For", asked_of.forwarded_for(var) }
	list[#list + 1] = { "X-Forwarded-Proto", asked_of.scheme(asked) }
	list[#list + 1] = { "X-Forwarded-Host", (asked_of.told_host(asked.header)) }
	list[#list + 1] = { "X-Forwarded-Port", asked_of.told_port(asked) }
	list[#list + 1] = { "X-Real-IP", var.remote_addr }
	list[#list + 1] = { "Forwarded", (headers.forwarded(var, asked.header)) }
end

local function ask(asked, auth)
	local target = pieces.to_target(auth.target(asked))
	local pool = auth.pool or pool_of_target(asked, target)
	if not pool then
		return nil
	end
	local list = question.headers_of(asked_of.headers(asked), headers.is_claim)
	own_headers(list, asked)
	local host
	list, host = question.change(list, auth.host and auth.host(asked) or asked.header, auth.request_headers, asked)
	local status, found = question.ask({ pool = pool, method = auth.method, host = host, target = target, headers = list }, true)
	if not status then
		return nil
	end
	local answer = { status = status, copied = {}, cookies = found["set-cookie"] or {}, challenges = found["www-authenticate"] or {} }
	for i, name in ipairs(auth.copied) do
		answer.copied[i] = found[name.key] and concat(found[name.key], ", ")
	end
	return answer
end

local function ask_once(asked, auth)
	local token = auth.under_way.enter()
	if not token then
		return nil
	end
	local ok, answer = pcall(ask, asked, auth)
	auth.under_way.leave(token)
	if not ok then
		ngx.log(ngx.ERR, "sluice: external authentication: ", answer)
		return nil
	end
	return answer
end

-- What the other server says, perhaps said some time ago; nil: nothing that counts. `asked` keeps what the backend and the client get of it.
function _M.answer(asked, policy)
	local auth = policy.external_auth
	local key = key_of(asked, policy, auth)
	local answer = key and remembered(key)
	if not answer then
		answer = ask_once(asked, auth)
		if answer and key then
			keep(key, auth, answer)
		end
	end
	if not answer then
		return nil
	end
	asked.new_cookies = #answer.cookies > 0 and answer.cookies
	asked.cookies_always = auth.cookies_always
	if answer.status >= 200 and answer.status < 300 then
		asked.copied = answer.copied
	end
	return answer
end

local function nothing()
	return ""
end

-- What the backend gets of the answer under the i-th of the names that are copied; empty: nothing.
local function copied_value(i)
	return function(asked)
		local value = asked.copied and asked.copied[i] or ""
		return find(value, "[%z\1-\31\127]") and "" or value
	end
end

-- What becomes of headers of the request by it, as changes (policy.lua). Those that the client has sent by these names never pass, whoever let it in.
function _M.changes(asked, auth)
	local changes = {}
	for i, name in ipairs(auth.copied) do
		changes[i] = name.value(asked) ~= "" and name or name.removed
	end
	return changes
end

-- As the row of a policy has it. `parts` makes texts and changes of lists.
function _M.parse(words, parts)
	local auth = {
		pool = words.pool and words.pool[2], method = words.method and words.method[2] or "GET", target = parts.text(words.target),
		host = parts.text(words.host), sign_in = parts.text(words.sign_in), cache_key = parts.text(words.cache_key),
		request_headers = words.request_headers and parts.changes(words.request_headers), cookies_always = words.cookies_always ~= nil, copied = {},
		under_way = bound.new(UNDER_WAY_MAX, LASTS_S),
	}
	for i = 2, words.copied and #words.copied or 0 do
		local name, key = words.copied[i], string.lower(words.copied[i])
		auth.copied[i - 1] = { action = "set", name = name, key = key, value = copied_value(i - 1), removed = { action = "remove", name = name, key = key, value = nothing } }
	end
	if words.cache_times then
		auth.cache_times = {}
		for i = 2, #words.cache_times, 2 do
			auth.cache_times[tonumber(words.cache_times[i])] = tonumber(words.cache_times[i + 1])
		end
	end
	return auth
end

return _M
