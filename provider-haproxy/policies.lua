-- SPDX-License-Identifier: Apache-2.0
-- Loaded by HAProxy, once for each of its threads: what policies.cfg.tmpl cannot say, because names of headers, cookies and arguments stand in
-- rules there and not in rows, or because values are made of many pieces. policies.h says how the rows are written.

local value_of

-- The fields of a text; an empty text has one.
local function split(text, mark)
	local fields = {}
	local at = 1
	while true do
		local stop = text:find(mark, at, true)
		if not stop then
			fields[#fields + 1] = text:sub(at)
			return fields
		end
		fields[#fields + 1] = text:sub(at, stop - 1)
		at = stop + 1
	end
end

-- What `make` finds in a text, kept for as many texts as have so many bytes together: those of rows, which most requests have in common.
local kept_len_max = 4 * 1024 * 1024

local function keeping(make)
	local found, len = {}, 0
	return function(text)
		local value = found[text]
		if value == nil then
			value = make(text)
			len = len + #text
			if len > kept_len_max then
				found, len = {}, #text
			end
			found[text] = value
		end
		return value
	end
end

-- Those of a row; nobody changes them.
local fields_of = keeping(function(text)
	return split(text, "|")
end)

local function decode(text)
	return (text:gsub("%%(%x%x)", function(digits)
		return string.char(tonumber(digits, 16))
	end))
end

-- Without the blanks at its ends. A pattern with blanks before its end would begin anew at each blank.
local function trim(text)
	local first = text:find("[^ \t]")
	return first and text:sub(first, -text:reverse():find("[^ \t]")) or ""
end

-- The lines of a header as the client has sent them, also when another server's answer has taken their place (asking.lua).
local function lines_of(txn, name)
	local before = txn:get_priv()
	local lines = before and before[name:lower()]
	if lines then
		return lines
	end
	lines = {}
	-- Who is believed may have told another host than was asked for.
	if name:lower() == "host" then
		return {txn:get_var("txn.n")}
	end
	for i = 1, txn.f:req_fhdr_cnt(name) do
		lines[i] = txn.f:req_fhdr(name, i)
	end
	return lines
end

-- What actions have made of the requests that they have at the moment: a thousand conditions and pieces may want the same.
local known = setmetatable({}, {__mode = "k"})

-- What `make` makes of the request, made once; `what` is its name.
local function once(txn, what, make, ...)
	local made = known[txn] or {}
	known[txn] = made
	if made[what] == nil then
		made[what] = make(txn, ...) or false
	end
	return made[what] or nil
end

local function joined_lines(txn, name)
	local lines = lines_of(txn, name)
	return lines[1] and table.concat(lines, ", ")
end

-- Of several lines of a header, their values joined.
local function header_of(txn, name)
	return once(txn, "header " .. name, joined_lines, name)
end

local function read_arguments(txn)
	local found = {}
	for pair in (txn.f:query() or ""):gmatch("[^&]+") do
		local key, value = pair:match("^([^=]*)=?(.*)$")
		key = decode((key:gsub("+", " ")))
		found[key] = found[key] or value
	end
	return found
end

-- The first argument of that name, as sent; nil: there is none.
local function argument_of(txn, name)
	return once(txn, "arguments", read_arguments)[name]
end

local function read_cookies(txn)
	local found = {}
	for _, line in ipairs(lines_of(txn, "cookie")) do
		for pair in line:gmatch("[^;]+") do
			local equals = pair:find("=", 1, true)
			local name = equals and trim(pair:sub(1, equals - 1))
			found[name or ""] = found[name or ""] or equals and trim(pair:sub(equals + 1))
		end
	end
	return found
end

-- Likewise.
local function cookie_of(txn, name)
	return once(txn, "cookies", read_cookies)[name]
end

-- As fields of rows have texts: what ends a field, a word or a list is percent-encoded.
local function encode_text(text)
	return (text:gsub("[^%w]", function(byte)
		return string.format("%%%02X", byte:byte())
	end))
end

local function percent(byte)
	return string.format("%%%02X", byte:byte())
end

-- Bytes that a path cannot have (RFC 3986, section 3.3).
local function encode_for_path(text)
	return (text:gsub("[^%w%-._~!$&'()*+,;=:@/%%]", percent))
end

-- ---- conditions ----

-- Steps of a search, as PCRE2 counts them.
local step_limit = 100000

local function compile(regex)
	local is_good, code = Regex.new("(*LIMIT_MATCH=" .. step_limit .. ")" .. regex, true)
	return is_good and code or error("a regular expression is not good")
end

-- As it is, and so that it finds at least the end: what was too much for it has not even found that.
local code_of = keeping(compile)
local code_or_end = keeping(function(regex)
	return compile("(?:" .. regex .. ")|\\z")
end)

-- What searches for one request may take of the processor together. That is looked at whenever they may have taken a part of it since: there are expressions that take
-- the square of a text's length although PCRE2 counts few steps, and some that take all of their steps of any text.
local cpu_max_s = 0.2
local look_after = 100 * 1000 * 1000 -- in squares of bytes, some tens of milliseconds
local steps_work = 5000 * 1000

local function spend(budget, value)
	budget.work = (budget.work or 0) + #value * (#value + 2048) + steps_work
	if budget.work > look_after then
		local now = os.clock() -- of all threads of HAProxy: with many that are busy it is soon over, but not before the work is a lot
		budget.work, budget.began = 0, budget.began or now
		if now - budget.began > cpu_max_s then
			error("searches took too long")
		end
	end
end

local function is_found(value, regex)
	if code_of(regex):exec(value) then
		return true
	end
	if not code_or_end(regex):exec(value) then
		error("a search took too many steps")
	end
	return false
end

-- The text with the group that was found between two marks.
local function marked(txn, value, regex, group)
	local found = txn.c:regsub(value, "(*LIMIT_MATCH=" .. step_limit .. ")" .. regex, "\1\\" .. group .. "\1", "")
	return found or error("a text is too long to be searched")
end

-- The last search for groups: a path and its headers may be made of many.
local last = {}

-- Of the text that the regular expression has found; nil: it has not.
local function groups_in(value, regex)
	if last.value ~= value or last.regex ~= regex then
		local is_matched, groups = code_of(regex):match(value)
		last = {value = value, regex = regex, groups = is_matched and groups or nil, marked = {}}
	end
	return last.groups
end

-- The group with that number; empty if it is no part of it.
local function group_of(txn, value, regex, number)
	local groups, others = groups_in(value, regex), last.marked
	local group = groups and groups[number + 1] or others[number]
	if not group then
		-- HAProxy tells groups up to the first one that is empty because nothing of the text is its.
		group = marked(txn, value, regex, number):match("\1(.*)\1") or ""
		others[number] = group
	end
	return group
end

local function decoded_argument(txn, name)
	local value = argument_of(txn, name)
	return value and decode((value:gsub("+", " ")))
end

local subjects = {
	m = function(txn)
		return txn.f:method()
	end,
	h = header_of,
	q = function(txn, name)
		return once(txn, "argument " .. name, decoded_argument, name)
	end,
	c = cookie_of,
	p = function(txn)
		return txn.f:path()
	end,
	d = function(txn, _, match)
		return match == "r" and decode(txn:get_var("txn.p")) or txn:get_var("txn.p")
	end,
}

local function holds(txn, condition, budget)
	local match, wanted = condition.match, condition.wanted
	local value = condition.subject(txn, condition.name, match)
	if not value or match == "p" then
		return value ~= nil
	end
	if match == "r" then
		spend(budget, value)
		return is_found(value, wanted)
	end
	if match == "b" then
		return value == wanted or value:sub(1, #wanted + 1) == wanted .. "/"
	end
	return value == wanted
end

local function all_hold(txn, conditions, budget)
	for _, condition in ipairs(conditions) do
		if not holds(txn, condition, budget) then
			return false
		end
	end
	return true
end

local function read_conditions(text)
	local conditions = {}
	for _, item in ipairs(split(text, "&")) do
		local subject, match, name, wanted = item:match("^(%a)(%a)([^;]*);(.*)$")
		if subject then
			conditions[#conditions + 1] = {subject = subjects[subject], match = match, name = decode(name), wanted = decode(wanted)}
		end
	end
	return conditions
end

local alternatives_of = keeping(function(row)
	local fields, alternatives = split(row, "|"), {}
	for i = 3, #fields - 1, 2 do
		local regex = fields[i]:match("^[pd]r;([^&]*)") or ""
		alternatives[#alternatives + 1] = {
			conditions = read_conditions(fields[i]), encoded_regex = regex, regex = decode(regex), route = decode(fields[i + 1]),
		}
	end
	return alternatives
end)

-- Of the alternatives of a route, the first whose conditions hold takes its place; nil: none does.
local function find(txn, row)
	local budget = {}
	for _, alternative in ipairs(alternatives_of(row)) do
		if all_hold(txn, alternative.conditions, budget) then
			return alternative
		end
	end
end

local function choose(txn)
	local is_good, found = pcall(find, txn, txn:get_var("txn.r"))
	txn:set_var("txn.re", is_good and found and found.regex or "")
	txn:set_var("txn.r", not is_good and "none|e|" or found and found.route or "none|d|")
end

-- What a group has found, as a path has it, behind an equals sign; HAProxy does not tell each (group_of).
local function told_group(groups, number)
	local group = groups[number + 1]
	if not group then
		return ""
	end
	return "=" .. (group:find("[%c\127]") and "" or encode_for_path(group))
end

-- Behind the expression the first two groups, where they are not so long that all of it would not fit a buffer.
local function with_groups(text, found, path)
	if found.regex == "" or #text + 6 * #path > 12288 then
		return text
	end
	local groups = groups_in(path, found.regex)
	return groups and text .. "<" .. told_group(groups, 1) .. "<" .. told_group(groups, 2) or text
end

-- Likewise where only paths are looked at, which costs a tenth: no objects of the request are made. From the row, a `<` and the path to the route, a `<`, the
-- expression, encoded, and what it has found.
local function choose_by_path(text)
	local row, path = text:match("^([^<]*)<(.*)$")
	local request = {f = {path = function() return path end}}
	local is_good, found = pcall(find, request, row)
	if not is_good or not found then
		return is_good and "none|d|<" or "none|e|<"
	end
	return with_groups(found.route .. "<" .. found.encoded_regex, found, path)
end

-- ---- decoded paths ----

-- The path without empty elements and those of dots; nil: it leads above the root.
local function resolve(path)
	local kept = {}
	for element in path:gmatch("[^/]+") do
		if element == ".." then
			if #kept == 0 then
				return nil
			end
			kept[#kept] = nil
		elseif element ~= "." then
			kept[#kept + 1] = element
		end
	end
	local has_slash = #kept ~= 0 and (path:sub(-1) == "/" or path:find("/%.%.?$") ~= nil)
	return "/" .. table.concat(kept, "/") .. (has_slash and "/" or "")
end

-- As it stands in keys of rows.
local function decode_path(txn)
	local path = resolve(decode(txn.f:path()))
	if path then
		txn:set_var("txn.p", (path:gsub("[%c%% \127]", function(byte)
			return string.format("%%%02X", byte:byte())
		end)))
	end
end

-- Rows have its paths decoded, with blanks and the like encoded again (provider-proxy/paths.h).
local function is_decoded_host(txn)
	return (txn:get_var("txn.k") or ""):sub(1, 1) == "e"
end

-- What rules were compared with, and whether it was decoded.
local function compared(txn)
	if is_decoded_host(txn) then
		return decode(txn:get_var("txn.p")), true
	end
	return txn.f:path() or "", false
end

-- What follows the path of the rule, whose length counts in the path as it stands in rows.
local function rest_of(txn, length)
	if is_decoded_host(txn) then
		return decode(txn:get_var("txn.p"):sub(length + 1))
	end
	return (txn.f:path() or ""):sub(length + 1)
end

-- ---- texts made of pieces ----

-- The same for all that is made for a request.
local function id_of(txn)
	local id = header_of(txn, "x-request-id") or txn:get_var("txn.id")
	if not id or id == "" then
		id = txn.f:uuid():gsub("-", "")
		txn:set_var("txn.id", id)
	end
	return id
end

-- The address of the client; behind proxies that are believed it may be another one in each request.
local function client_of(txn)
	return txn:get_var("txn.client") or txn:get_var("sess.client")
end

-- As who is believed about it says.
local function scheme_of(txn)
	return txn:get_var("txn.scheme") or (txn.f:ssl_fc() == 1 and "https" or "http")
end

local function escaped_target(txn)
	return (txn.f:pathq():gsub("[^%w%-._~]", percent))
end

local values = {
	t = function(_, text)
		return text
	end,
	s = function(txn)
		return scheme_of(txn)
	end,
	h = function(txn)
		return txn:get_var("txn.h")
	end,
	H = function(txn)
		return txn:get_var("txn.n")
	end,
	o = function(txn)
		return txn:get_var("txn.port") or txn:get_var("sess.port")
	end,
	m = function(txn)
		return txn.f:method()
	end,
	p = function(txn)
		return txn.f:path()
	end,
	r = function(txn)
		local skipped = tonumber(fields_of(txn:get_var("txn.r"))[3])
		return skipped and rest_of(txn, skipped)
	end,
	q = function(txn)
		return txn.f:query()
	end,
	a = function(txn)
		local target = txn.f:pathq() or ""
		return target:match("%?.*$")
	end,
	u = function(txn)
		return txn.f:pathq()
	end,
	l = function(txn)
		return (txn.f:pathq():gsub("/$", ""))
	end,
	e = function(txn)
		return once(txn, "target", escaped_target)
	end,
	i = id_of,
	v = function(txn)
		return (txn:get_var("txn.service") or ""):match("^(.*):")
	end,
	w = function(txn)
		return (txn:get_var("txn.service") or ""):match(":(%d+)$")
	end,
	z = function(txn)
		return txn:get_var("txn.status")
	end,
	c = function(txn)
		return client_of(txn)
	end,
	x = header_of,
	k = cookie_of,
	g = argument_of,
	n = function(txn, group)
		local regex = txn:get_var("txn.re")
		return regex and regex ~= "" and group_of(txn, (compared(txn)), regex, tonumber(group))
	end,
}

local pieces_of = keeping(function(text)
	local pieces = {}
	for _, piece in ipairs(split(text, "!")) do
		local letter = piece:sub(1, 1)
		pieces[#pieces + 1] = values[letter] and {letter = letter, make = values[letter], text = decode(piece:sub(2))}
	end
	return pieces
end)

local value_len_max = 16384

-- What has control characters is left out, and what would make all too long.
function value_of(txn, text, encode)
	local parts, room = {}, value_len_max
	for _, piece in ipairs(pieces_of(text)) do
		local value = piece.make(txn, piece.text) or ""
		if #value <= room and not value:find("[%c\127]") then
			room = room - #value
			parts[#parts + 1] = encode and encode(txn, piece.letter, value) or value
		end
	end
	return table.concat(parts)
end

-- Without the variable there was an error.
local function locate(txn)
	txn:set_var("txn.l", value_of(txn, fields_of(txn:get_var("txn.r"))[5]))
end

-- ---- changes of the request ----

-- Of an answer, in words, until it is there: what its values are made of is gone by then. What has no room any more in what HAProxy keeps for that, beside CORS,
-- is left out.
local added_len_max = 2560 -- as policies.c has it

local function prepare(txn)
	local fields, made = fields_of(txn:get_var("txn.g")), {}
	local room = added_len_max - #fields[7] - #fields[8] - #fields[9]
	for _, text in ipairs(split(fields[19], "&")) do
		local action, name, pieces = text:match("^(%a)([^;]*);(.*)$")
		local value = action and value_of(txn, pieces) or ""
		local len = action and #name + #value or room + 1
		if len <= room then
			room = room - (action == "r" and 0 or len)
			made[#made + 1] = action .. name .. ";" .. encode_text(value)
		end
	end
	txn:set_var("txn.answer", table.concat(made, "&"))
end

-- What a path is made of here, without objects of the request: groups as far as HAProxy tells them (group_of).
local parts_of_path = {
	t = function(part)
		return part.text
	end,
	p = function(_, path)
		return path
	end,
	r = function(_, path, skipped)
		return path:sub(tonumber(skipped) + 1)
	end,
	n = function(part, path, _, regex)
		local groups = groups_in(path, decode(regex))
		return groups and groups[tonumber(part.text) + 1] or error("a group is not told")
	end,
}

-- From pieces, how much of the path a prefix is, the expression, encoded, and the path, with `<` between them, to another path; nothing: that is for others to make.
local function rewrite(text)
	local made, pieces, skipped, regex, path = {}, text:match("^([^<]*)<([^<]*)<([^<]*)<(.*)$")
	for _, part in ipairs(pieces_of(pieces)) do
		local value = parts_of_path[part.letter](part, path, skipped, regex)
		if not value:find("[%c\127]") then
			made[#made + 1] = encode_for_path(value)
		end
	end
	local other = table.concat(made)
	return other:sub(1, 1) == "/" and other or "/" .. other
end

local function rewrite_path(text)
	local is_good, path = pcall(rewrite, text)
	return is_good and path or ""
end

-- Bytes that a path cannot have (RFC 3986, section 3.3), and percent signs of what was decoded.
local function encode(txn, letter, value)
	local _, is_decoded = compared(txn)
	local others = is_decoded and (letter == "r" or letter == "n") and "" or "%%"
	return (value:gsub("[^%w%-._~!$&'()*+,;=:@/" .. others .. "]", percent))
end

local changes = {
	s = function(txn, name, value)
		txn.http:req_set_header(name, value)
	end,
	a = function(txn, name, value)
		txn.http:req_add_header(name, value)
	end,
	r = function(txn, name)
		txn.http:req_del_header(name)
	end,
}

-- Does what is said by a list of { action, name, value }; where errors are looked at, who may want the request as it was, pages.lua does it later.
local function change_request(txn, made)
	if not txn:get_var("txn.wanted") then
		for _, one in ipairs(made) do
			changes[one[1]](txn, one[2], one[3])
		end
		return
	end
	local later = txn:get_var("txn.later") or ""
	local words = later ~= "" and {later} or {}
	for _, one in ipairs(made) do
		words[#words + 1] = one[1] .. encode_text(one[2]) .. ";t" .. encode_text(one[3])
	end
	txn:set_var("txn.later", table.concat(words, "&"))
end

-- Adds to `made` what the words say.
local function add_changes(txn, made, words)
	for _, text in ipairs(split(words, "&")) do
		local action, name, pieces = text:match("^(%a)([^;]*);(.*)$")
		if action then
			made[#made + 1] = {action, decode(name), value_of(txn, pieces)}
		end
	end
end

-- A pool that stands in gets the path as it was sent, and changes of its own after the others.
local function change(txn)
	local fields = fields_of(txn:get_var("txn.g"))
	local made = {}
	local stands_in = txn:get_var("txn.fallback")
	local path = not stands_in and fields[11] ~= "" and value_of(txn, fields[11], encode)
	-- With another server that has let it in, asking.lua has done so.
	if txn:get_var("txn.good") and not fields[1]:find("x", 1, true) then
		made[1] = {"r", "authorization", ""}
	end
	add_changes(txn, made, fields[12])
	if stands_in then
		txn:set_var("txn.status", "503")
		add_changes(txn, made, fields[22])
	end
	change_request(txn, made)
	path = path and (path:sub(1, 1) == "/" and path or "/" .. path)
	if path and txn:get_var("txn.wanted") then
		txn:set_var("txn.later_path", path)
	elseif path then
		txn.http:req_set_path(path)
	end
	txn:set_var("txn.done", true)
end

-- ---- rate limits ----

-- Until when the requests of an address would run out, if no more came, by policy, limit and address; what has not been asked for since as
-- many others were is in the older table, and then forgotten.
local bucket_limit = 50000
local began
local buckets = {}
local older = {}
local bucket_count = 0

local function remember(key, full_until)
	if not buckets[key] then
		bucket_count = bucket_count + 1
	end
	buckets[key] = full_until
	if bucket_count >= bucket_limit then
		older = buckets
		buckets = {}
		bucket_count = 0
	end
end

-- Leaky buckets: a request adds a step, `burst` and one of them fit.
local function limit_rate(txn)
	local clock = core.now()
	began = began or clock.sec
	local now = clock.sec - began + clock.usec / 1000000
	local limits = split(fields_of(txn:get_var("txn.g"))[13], "&")
	local key = txn:get_var("txn.y") .. txn:get_var("txn.a")
	local full = {}
	for i, limit in ipairs(limits) do
		local requests, interval, burst = limit:match("^(%d+);(%d+);(%d+)$")
		local step = interval / requests
		local one = i .. key
		local at = math.max(buckets[one] or older[one] or now, now)
		full[i] = {one, at + step}
		if at - now > burst * step + step / 1000000 then
			txn:set_var("txn.limited", "yes")
			return
		end
	end
	for _, one in ipairs(full) do
		remember(one[1], one[2])
	end
	txn:set_var("txn.limited", "no")
end

-- 0 is the state that all threads share, where one waits for the other. A stream has one state for all its actions, that of the first: since one of them counts for
-- all threads, all of them are there.
if core.thread == 0 then
	core.register_action("sluice_choose", {"http-req"}, choose)
	core.register_converters("sluice_choose_by_path", choose_by_path)
	core.register_converters("sluice_rewrite_path", rewrite_path)
	core.register_action("sluice_decode", {"http-req"}, decode_path)
	core.register_action("sluice_limit_rate", {"http-req"}, limit_rate)
	core.register_action("sluice_locate", {"http-req"}, locate)
	core.register_action("sluice_prepare", {"http-req"}, prepare)
	core.register_action("sluice_change", {"http-req"}, change)
end
core.register_init(function()
	collectgarbage("restart")
end)

-- For the scripts behind this one.
sluice = {
	split = split, trim = trim, fields_of = fields_of, decode = decode, encode_text = encode_text, value_of = value_of, is_found = is_found, change_request = change_request,
	lines_of = lines_of, header_of = header_of, client_of = client_of,
	questions = os.getenv("SLUICE_QUESTIONS"), checks = os.getenv("SLUICE_CHECKS"),
}
