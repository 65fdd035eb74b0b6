-- SPDX-License-Identifier: Apache-2.0
-- Behind policies.lua: steps 16 and 17 of section 5.3 of PROTOCOL.md, as far as another endpoint is asked again, or another pool in place of an error. pages.cfg.tmpl
-- says how a request comes to it.
local split, decode, encode_text, value_of = sluice.split, sluice.decode, sluice.encode_text, sluice.value_of

-- ---- what a request has met, by its number: the error in whose place a pool answers, or how many were asked and since when ----

local kept_max = 50000
local kept, older, kept_count = {}, {}, 0

local function keep(id, met)
	kept[id] = met
	kept_count = kept_count + 1
	if kept_count >= kept_max then
		kept, older, kept_count = {}, kept, 0
	end
end

local function take(id)
	local met = kept[id] or older[id]
	kept[id], older[id] = nil, nil
	return met or {}
end

-- ---- where the request is first ----

local function is_wanted(txn, status)
	return (txn:get_var("txn.wanted") or ""):find("," .. status .. ",", 1, true) ~= nil
end

-- Of those whose status is not the same for all.
local function fail(txn)
	local status = txn:get_var("txn.refused")
	if not status and txn:get_var("txn.limited") == "yes" then
		status = txn:get_var("txn.c")
	end
	status = tostring(status or split(txn:get_var("txn.r"), "|")[4])
	if is_wanted(txn, status) then
		txn:set_var("txn.error", status)
	end
end

-- Pieces as texts, but for the status, which nobody knows yet.
local function settle(txn, pieces)
	local made = {}
	for _, piece in ipairs(split(pieces, "!")) do
		made[#made + 1] = piece:sub(1, 1) == "z" and "z" or "t" .. encode_text(value_of(txn, piece))
	end
	return table.concat(made, "!")
end

local function settle_changes(txn, words)
	local made = {}
	for _, text in ipairs(words ~= "" and split(words, "&") or {}) do
		local action, name, pieces = text:match("^(%a)([^;]*);(.*)$")
		made[#made + 1] = action .. name .. ";" .. settle(txn, pieces)
	end
	return table.concat(made, "&")
end

-- The backends are those that were found with the rest of what is said of the request, and so they belong together.
local function pass(txn)
	local fields = sluice.fields_of(txn:get_var("txn.g"))
	local id = txn.f:uuid()
	local scheme = txn.f:ssl_fc() == 1 and "https" or "http"
	txn.http:req_set_header("sluice-way", table.concat({
		txn:get_var("txn.slot") or "", id, txn:get_var("txn.wanted") or "", txn:get_var("txn.timeout") or "", scheme, sluice.client_of(txn),
		encode_text(txn:get_var("txn.later_path") or ""), txn:get_var("txn.later") or "",
		fields[29],
	}, "|"))
	txn.http:req_set_header("sluice-page", table.concat({
		txn:get_var("txn.page") or "", txn:get_var("txn.error") or "", settle(txn, fields[27] ~= "" and fields[27] or "t/"), settle_changes(txn, fields[28]),
	}, "|"))
end

-- ---- where its pool is asked ----

local actions = {
	s = function(http, name, value)
		http:req_set_header(name, value)
	end,
	a = function(http, name, value)
		http:req_add_header(name, value)
	end,
	r = function(http, name)
		http:req_del_header(name)
	end,
}

local function change(txn, words)
	for _, text in ipairs(words ~= "" and split(words, "&") or {}) do
		local action, name, pieces = text:match("^(%a)([^;]*);(.*)$")
		actions[action](txn.http, decode(name), value_of(txn, pieces))
	end
end

local function ask_page(txn, fields, status)
	txn:set_var("txn.status", status)
	change(txn, fields[4])
	txn.http:req_set_uri(sluice.ways.target_of(value_of(txn, fields[3])))
	txn:set_var("txn.b", fields[1])
	txn:set_var("txn.last", true)
end

local function now()
	local clock = core.now()
	return clock.sec + clock.usec / 1000000
end

local function apply(txn)
	local fields = split(txn:get_var("txn.way"), "|")
	local page = split(txn.http:req_get_headers()["sluice-page"][0], "|")
	local met = take(fields[2])
	local status = page[2] ~= "" and page[2] or met.status
	txn.http:req_del_header("sluice-way")
	txn.http:req_del_header("sluice-page")
	if status then
		ask_page(txn, page, status)
		txn:set_var("txn.applied", true)
		return
	end
	txn:set_var("txn.asked", tostring(met.asked or 0))
	txn:set_var("txn.since", tostring(met.since or now()))
	txn:set_var("txn.verb", txn.f:method())
	change(txn, fields[8])
	if fields[7] ~= "" then
		txn.http:req_set_path(decode(fields[7]))
	end
	txn:set_var("txn.applied", true)
end

local asked_max = 10 -- as often as the backend `again` repeats a request
local idempotent = {GET = true, HEAD = true, OPTIONS = true, PUT = true, DELETE = true}

-- Errors of HAProxy's own: nobody could be connected to, which it has tried; an answer that breaks off or is none; none in time.
local function is_cause(letters, statuses, status, is_own)
	if not is_own then
		return statuses:find("," .. status .. ",", 1, true)
	end
	return status == "504" and letters:find("t") or status == "502" and letters:find("[ei]")
end

-- What the next one has to know; nil: none is asked.
local function next_of(txn, words, status, is_own)
	local letters, tries, timeout_ms, statuses = words:match("^(%a*);(%d+);(%d+);(.*)$")
	local asked, since = tonumber(txn:get_var("txn.asked") or "0") + 1, tonumber(txn:get_var("txn.since") or "0")
	if not letters or not is_cause(letters, statuses, status, is_own) or asked >= math.min(tries ~= "0" and tonumber(tries) or asked_max, asked_max) then
		return nil
	end
	local is_late = timeout_ms ~= "0" and now() - since >= timeout_ms / 1000
	local may_be_sent = idempotent[txn:get_var("txn.verb") or ""] or letters:find("u")
	return may_be_sent and not is_late and {asked = asked, since = since} or nil
end

-- For each answer, whoever makes it. 425 of a backend is another one until it is restored.
local function mark(txn)
	local fields = split(txn:get_var("txn.way") or "", "|")
	local status = tostring(txn.f:status())
	local is_own = not txn:get_var("txn.answered")
	local is_last = #fields < 9 or txn:get_var("txn.last")
	local met = not is_last and next_of(txn, fields[9], status, is_own)
	if not met and not is_last and (is_own or fields[3]:sub(1, 1) ~= "o") and fields[3]:find("," .. status .. ",", 1, true) then
		met = {status = status}
	end
	if met then
		keep(fields[2], met)
		txn.http:res_set_header("sluice-status", status)
		txn.http:res_set_status(425)
	elseif status == "425" then
		txn.http:res_set_header("sluice-status", status)
		txn.http:res_set_status(599)
	end
	return true
end

local function restore(txn)
	local status = txn.http:res_get_headers()["sluice-status"]
	txn.http:res_set_status(tonumber(status[0]))
	txn.http:res_del_header("sluice-status")
	return true
end

if core.thread == 0 then
	core.register_action("sluice_fail", {"http-req"}, fail)
	core.register_action("sluice_pass", {"http-req"}, pass)
	core.register_action("sluice_apply", {"http-req"}, apply)
	core.register_fetches("sluice_mark", mark)
	core.register_fetches("sluice_restore", restore)
end
