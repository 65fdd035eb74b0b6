-- SPDX-License-Identifier: Apache-2.0
-- Behind policies.lua: step 17 of section 5.3 of PROTOCOL.md, another pool answers in place of an error. pages.cfg.tmpl says how a request comes to it.
local split, decode, encode_text, value_of = sluice.split, sluice.decode, sluice.encode_text, sluice.value_of

-- ---- errors that were met, by the number of the request ----

local kept_max = 50000
local kept, older, kept_count = {}, {}, 0

local function keep(id, status)
	kept[id] = status
	kept_count = kept_count + 1
	if kept_count >= kept_max then
		kept, older, kept_count = {}, kept, 0
	end
end

local function take(id)
	local status = kept[id] or older[id]
	kept[id], older[id] = nil, nil
	return status
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
	local fields = split(txn:get_var("txn.g"), "|")
	local id = txn.f:uuid()
	local scheme = txn.f:ssl_fc() == 1 and "https" or "http"
	txn.http:req_set_header("sluice-way", table.concat({
		txn:get_var("txn.slot") or "", id, txn:get_var("txn.wanted"), txn:get_var("txn.timeout") or "", scheme, txn:get_var("sess.client"),
		encode_text(txn:get_var("txn.later_path") or ""), txn:get_var("txn.later") or "",
	}, "|"))
	txn.http:req_set_header("sluice-page", table.concat({
		txn:get_var("txn.page"), id, txn:get_var("txn.error") or "", settle(txn, fields[27] ~= "" and fields[27] or "t/"), settle_changes(txn, fields[28]),
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

local function strip(txn)
	txn.http:req_del_header("sluice-way")
	txn.http:req_del_header("sluice-page")
end

local function apply(txn)
	local fields = split(txn:get_var("txn.way"), "|")
	strip(txn)
	change(txn, fields[8])
	if fields[7] ~= "" then
		txn.http:req_set_path(decode(fields[7]))
	end
end

-- For each answer, whoever makes it. 425 of a backend is another one until it is restored.
local function mark(txn)
	local fields = split(txn:get_var("txn.way") or "||", "|")
	local status = tostring(txn.f:status())
	local counts = not txn:get_var("txn.answered") or fields[3]:sub(1, 1) ~= "o"
	if counts and fields[3]:find("," .. status .. ",", 1, true) then
		keep(fields[2], status)
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

-- ---- where the other pool is ----

local function page(txn)
	local row = txn.http:req_get_headers()["sluice-page"]
	local fields = split(row[0], "|")
	strip(txn)
	txn:set_var("txn.status", fields[3] ~= "" and fields[3] or take(fields[2]) or "502")
	change(txn, fields[5])
	txn.http:req_set_uri(sluice.ways.target_of(value_of(txn, fields[4])))
	txn:set_var("txn.b", fields[1])
end

if core.thread == 0 then
	core.register_action("sluice_fail", {"http-req"}, fail)
	core.register_action("sluice_pass", {"http-req"}, pass)
	core.register_action("sluice_apply", {"http-req"}, apply)
	core.register_action("sluice_page", {"http-req"}, page)
	core.register_fetches("sluice_mark", mark)
	core.register_fetches("sluice_restore", restore)
end
