-- SPDX-License-Identifier: Apache-2.0
-- What a worker keeps of the rows is what the rows say, whoever changes them, and never more than they are.
local NONE = ("0"):rep(16)

local function row(key, value)
	return (value and "S" or "D") .. string.char(math.floor(#key / 256), #key % 256, 0, 0, math.floor(#(value or "") / 256), #(value or "") % 256) .. key ..
		(value or "")
end

local serial = 0

local function serial_text()
	return ("%016x"):format(serial)
end

-- `rows`: pairs of key and value, false to delete. The store may be another worker's.
local function apply(store, flags, rows)
	local pieces, base = {}, serial == 0 and NONE or serial_text()
	for _, pair in ipairs(rows) do
		pieces[#pieces + 1] = row(pair[1], pair[2] or nil)
	end
	local text = table.concat(pieces)
	serial = serial + 1
	local status, problem = store.apply(("SLN1 %d %s %s %08x %s\n"):format(flags, base, serial_text(), #text, ("0"):rep(32)) .. text)
	assert(not status, problem)
end

-- Modules of a second worker of the same nginx.
local function other_store()
	local mine = {}
	for name, module in pairs(package.loaded) do
		if name:find("^sluice%.") then
			mine[name] = module
			package.loaded[name] = nil
		end
	end
	local store = require("sluice.store")
	for name in pairs(package.loaded) do
		if name:find("^sluice%.") then
			package.loaded[name] = mine[name]
		end
	end
	return store
end

-- An nginx with these rows as its whole state; how this worker finds pools, and how another one changes rows.
local function start(rows)
	serial = 0
	local store, route = require("sluice.store"), require("sluice.route")
	store.init("/nowhere")
	apply(store, 3, rows)
	local function find(host, path, id)
		return route.find(route.view(id or "http:l"), host, path)
	end
	return find, other_store(), store
end

local function count_reads()
	local dict, count = ngx.shared.sluice, 0
	local get = dict.get
	dict.get = function(self, key)
		count = count + 1
		return get(self, key)
	end
	return function()
		local reads = count
		count = 0
		return reads
	end
end

local tests = {}

function tests.what_is_kept_costs_one_read()
	local find = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" }, { "Whost:l:b", "h2" }, { "Ph2/x/", "p2" }, { "Wh2/y", "p3" } })
	for _, case in ipairs({ { "a", "/any/thing", "p1" }, { "b", "/x", "p2" }, { "b", "/y", "p3" } }) do
		find(case[1], case[2])
		local reads = count_reads()
		assert(find(case[1], case[2]) == case[3])
		local count = reads()
		assert(count <= 3, case[2] .. ": " .. count) -- a path without a row of its own is looked for among the whole keys if the host has any
	end
	local reads = count_reads()
	assert(find("a", "/other") == "p1")
	assert(reads() == 1)
end

function tests.rows_come_change_and_go()
	local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" }, { "Whost:l:*.w", "h2" }, { "Ph2/", "p2" }, { "Wdefault:l", "d" } })
	local function expect(pool, host, path)
		assert(find(host, path) == pool, ("%s%s: %s"):format(host, path, tostring(find(host, path))))
		assert(find(host, path) == pool)
	end
	expect("p1", "a", "/x/y")
	expect("p2", "b.w", "/")
	expect("d", "c", "/")
	apply(other, 0, { { "Ph1/", "p9" } })
	expect("p9", "a", "/x/y")
	apply(other, 0, { { "Ph1/x/y/", "p3" } })
	expect("p3", "a", "/x/y")
	expect("p9", "a", "/x")
	apply(other, 0, { { "Wh1/x/y", "p4" } })
	expect("p4", "a", "/x/y")
	apply(other, 0, { { "Wh1/x/y", false }, { "Ph1/x/y/", false } })
	expect("p9", "a", "/x/y")
	apply(other, 0, { { "Whost:l:b.w", "h3" }, { "Ph3/", "p5" } })
	expect("p5", "b.w", "/")
	apply(other, 0, { { "Whost:l:b.w", false } })
	expect("p2", "b.w", "/")
	apply(other, 0, { { "Whost:l:a", "h3" } })
	expect("p5", "a", "/x")
	apply(other, 0, { { "Whost:l:a", false }, { "Wdefault:l", false } })
	assert(find("a", "/") == nil and find("c", "/") == nil)
	apply(other, 0, { { "Whost:l:*", "h1" } })
	expect("p9", "c", "/")
end

function tests.plain_http_has_its_own()
	local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" }, { "Ph2/", "p2" } })
	assert(find("a", "/") == "p1" and find("a", "/", "https:l") == "p1")
	apply(other, 0, { { "Wplain:h1", "h2" } })
	assert(find("a", "/") == "p2" and find("a", "/", "https:l") == "p1")
	apply(other, 0, { { "Ph2/", "p3" } })
	assert(find("a", "/") == "p3")
	apply(other, 0, { { "Wplain:h1", false } })
	assert(find("a", "/") == "p1")
end

function tests.a_change_leaves_other_hosts_alone()
	local rows = {}
	for i = 1, 1000 do
		rows[#rows + 1] = { "Whost:l:a" .. i, "h" .. i }
		rows[#rows + 1] = { "Ph" .. i .. "/", "p" .. i }
	end
	local find, other = start(rows)
	for i = 1, 1000 do
		assert(find("a" .. i, "/") == "p" .. i)
	end
	for round = 1, 50 do
		apply(other, 0, { { "Ph7/", "q" .. round } })
		local reads = count_reads()
		assert(find("a7", "/") == "q" .. round)
		reads()
		for i = 8, 1000 do
			assert(find("a" .. i, "/") == "p" .. i)
		end
		assert(reads() == 993)
	end
end

function tests.whoever_has_missed_too_much_begins_anew()
	for _, count in ipairs({ 63, 64, 65, 200 }) do
		require("standin").reset()
		local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" } })
		assert(find("a", "/") == "p1")
		apply(other, 0, { { "Ph1/", "p2" } })
		for _ = 1, count do
			apply(other, 0, { { "Ph9/", "p" } })
		end
		assert(find("a", "/") == "p2", count)
	end
end

function tests.a_large_batch_is_believed_too()
	local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" } })
	local rows = {}
	assert(find("a", "/") == "p1")
	for i = 1, 4000 do
		rows[i] = { "Ph2/" .. i .. "/", "p" }
	end
	rows[#rows + 1] = { "Ph1/", "p2" }
	apply(other, 0, rows)
	assert(find("a", "/") == "p2")
end

function tests.a_whole_state_in_pieces()
	local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" }, { "Whost:l:b", "h2" }, { "Ph2/", "p2" } })
	assert(find("a", "/") == "p1" and find("b", "/") == "p2")
	apply(other, 1, { { "Whost:l:a", "h1" } })
	assert(find("a", "/") == "p1" and find("b", "/") == "p2")
	apply(other, 2, { { "Ph1/", "p3" } })
	assert(find("a", "/") == "p3" and find("b", "/") == nil)
end

function tests.nothing_kept_counts_while_rows_change()
	local find = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" } })
	local dict = ngx.shared.sluice
	assert(find("a", "/") == "p1")
	-- Half a batch, and then its worker dies.
	dict:set("!version", dict:get("!version") + 1)
	dict:set("Ph1/", "p2")
	assert(find("a", "/") == "p2")
	dict:set("Ph1/", "p3")
	assert(find("a", "/") == "p3")
	apply(other_store(), 3, { { "Whost:l:a", "h1" }, { "Ph1/", "p4" } })
	assert(find("a", "/") == "p4")
end

-- While a worker reads, another one takes a batch: what was kept and what is read must not be mixed.
function tests.a_batch_in_the_middle_of_a_look_up()
	local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" }, { "Ph1/x/", "p2" } })
	assert(find("a", "/") == "p1")
	local dict = ngx.shared.sluice
	local get = dict.get
	-- The host is kept, and had no whole keys; the prefix has gone by the time at which it is read.
	dict.get = function(self, key)
		if key == "Ph1/x/" then
			dict.get = nil
			apply(other, 0, { { "Wh1/x", "p3" }, { "Ph1/x/", false } })
		end
		return get(self, key)
	end
	assert(find("a", "/x") == "p3")
	assert(find("a", "/x") == "p3" and find("a", "/x/y") == "p1")
end

function tests.strangers_leave_nothing_behind()
	local find = start({ { "Whost:l:*", "h1" }, { "Whost:l:*.w", "h2" }, { "Ph1/a/b/c/", "p1" }, { "Ph1/", "p2" }, { "Wh1/x", "p3" }, { "Ph2/", "p4" } })
	local function ask(from, to)
		for i = from, to do
			find("host" .. i, "/" .. i .. "/" .. i)
			find("host" .. i .. ".w", "/" .. i)
			find("host", "/a/b/c/" .. i)
			-- Often, so that what is not collected yet never makes the table of all strings grow: that would be counted too.
			if i % 200 == 0 then
				collectgarbage()
			end
		end
		collectgarbage()
		return collectgarbage("count")
	end
	local before = ask(1, 1000)
	local grown = ask(1001, 20000) - before
	assert(grown < 64, grown)
end

-- Against a router that knows nothing but the rows.
function tests.any_rows_in_any_order()
	local hosts, elements = { "a", "b.w", "c.w", "d" }, { "/x", "/y", "/x/y", "/x/y/z", "", "/z" }
	local rows = {}
	local function plain_find(host, path)
		local name = rows["Whost:l:" .. host] or (host:find(".", 1, true) and rows["Whost:l:*" .. host:match("%..*$")]) or rows["Whost:l:*"]
		if not name then
			return rows["Wdefault:l"]
		end
		if rows["W" .. name .. path] then
			return rows["W" .. name .. path]
		end
		local slashed = path .. "/"
		for at = #slashed, 1, -1 do
			local pool = slashed:sub(at, at) == "/" and rows["P" .. name .. slashed:sub(1, at)]
			if pool then
				return pool
			end
		end
		return rows["Wdefault:l"]
	end
	math.randomseed(7)
	local function any(list) return list[math.random(#list)] end
	local find, other, own = start({ { "Wdefault:l", "d" } })
	rows["Wdefault:l"] = "d"
	for round = 1, 3000 do
		local batch = {}
		for _ = 1, math.random(3) do
			local kind = math.random(3)
			local key, value
			if kind == 1 then
				key, value = "Whost:l:" .. any({ "a", "b.w", "*.w", "*" }), "h" .. math.random(3)
			else
				local path = any(elements)
				key = kind == 2 and "Ph" .. math.random(3) .. path .. "/" or "Wh" .. math.random(3) .. (path == "" and "/" or path)
				value = "p" .. round
			end
			if math.random(3) == 1 then
				value = nil
			end
			rows[key] = value
			batch[#batch + 1] = { key, value or false }
		end
		apply(any({ other, own }), 0, batch)
		for _ = 1, 6 do
			local host, path = any(hosts), any({ "/", "/x", "/x/", "/x/y", "/x/y/z/w", "/y/q", "/z", "/xy" })
			assert(find(host, path) == plain_find(host, path), ("round %d: %s%s"):format(round, host, path))
		end
	end
end

function tests.shapes_go_with_the_last_row_of_a_host()
	local _, other = start({ { "Ph1/", "p1" }, { "Wh1/x", "p2" } })
	local dict = ngx.shared.sluice
	assert(dict:get("!shape:h1") == 2)
	apply(other, 0, { { "Ph1/", "p3" }, { "Wh1/x", false } })
	assert(dict:get("!shape:h1") == 1)
	apply(other, 0, { { "Ph1/", false }, { "Ph1/", false } })
	assert(dict:get("!shape:h1") == nil)
end

function tests.shapes_that_do_not_belong_to_the_state_are_not_believed()
	local _, _, store = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" } })
	local dict = ngx.shared.sluice
	-- A version that knows no shapes has been here.
	dict:set("Ph1/x/y/", "p2")
	dict:set("!depth", 3)
	dict:set("!longest", 40)
	dict:set("!serial", ("9"):rep(16))
	store.init("/nowhere")
	package.loaded["sluice.route"], package.loaded["sluice.changes"] = nil, nil
	local route = require("sluice.route")
	assert(route.find(route.view("http:l"), "a", "/x/y") == "p2")
end

-- After an upgrade, while workers of the version before are still ending.
function tests.rows_that_came_by_a_worker_without_shapes_are_found()
	local find, other = start({ { "Whost:l:a", "h1" }, { "Ph1/", "p1" } })
	local dict = ngx.shared.sluice
	local function take_without_shapes(key, pool)
		dict:set(key, pool)
		serial = serial + 1
		dict:set("!serial", serial_text())
		dict:set("!depth", 4)
		dict:set("!longest", 40)
	end
	take_without_shapes("Ph1/x/", "p2")
	assert(find("a", "/x") == "p2")
	-- What others add to the shapes later does not make them whole.
	apply(other, 0, { { "Ph1/y/", "p3" } })
	take_without_shapes("Wh1/z", "p4")
	apply(other, 0, { { "Ph1/y/y/", "p5" } })
	assert(find("a", "/x") == "p2" and find("a", "/y") == "p3" and find("a", "/z") == "p4" and find("a", "/y/y") == "p5")
end

local function pool_text(...)
	return "proto http\n" .. table.concat({ ... }, "\n") .. "\n"
end

function tests.pools_are_read_when_they_change()
	local _, other = start({ { "Opool:p", pool_text("e a 1 10.0.0.1 80") } })
	local pools = require("sluice.pools")
	assert(#pools.get("p").active == 1)
	local reads = count_reads()
	assert(#pools.get("p").active == 1 and reads() == 1)
	apply(other, 0, { { "Opool:p", pool_text("e a 1 10.0.0.1 80", "e a 2 10.0.0.2 80") } })
	assert(#pools.get("p").active == 2)
	apply(other, 0, { { "Opool:p", false } })
	assert(pools.get("p") == nil)
end

function tests.connections_to_who_has_left_are_not_used_for_who_comes()
	local standin = require("standin")
	local _, other = start({ { "Opool:p", pool_text("e a 1 10.0.0.1 80", "e a 2 10.0.0.2 80") }, { "Opool:q", pool_text("e a 3 10.0.0.3 80") } })
	local pools = require("sluice.pools")
	local function is_anew(key, id)
		return pools.is_to_be_met_anew(pools.get(key).by_id[id])
	end
	assert(not is_anew("p", "1") and not is_anew("p", "2") and not is_anew("q", "3"))
	-- Nobody asks for `p` between the two changes.
	apply(other, 0, { { "Opool:p", pool_text("e a 1 10.0.0.1 80") } })
	apply(other, 0, { { "Opool:q", pool_text("e a 2 10.0.0.2 80", "e a 3 10.0.0.3 80") } })
	assert(is_anew("q", "2") and not is_anew("q", "3") and not is_anew("p", "1"))
	standin.now = standin.now + 66
	assert(not is_anew("q", "2"))
	apply(other, 0, { { "Opool:q", false } })
	apply(other, 0, { { "Opool:p", pool_text("e a 1 10.0.0.1 80", "e a 3 10.0.0.3 80") } })
	assert(is_anew("p", "3") and not is_anew("p", "1"))
	-- In a batch of which only is known that it has changed much.
	local rows = { { "Opool:p", pool_text("e a 3 10.0.0.3 80", "e a 4 10.0.0.4 80") }, { "Opool:r", pool_text("e a 1 10.0.0.1 80") } }
	for i = 1, 4000 do
		rows[#rows + 1] = { "Ph2/" .. i .. "/", "p" }
	end
	apply(other, 0, rows)
	assert(not is_anew("p", "4"))
	assert(is_anew("r", "1"))
end

-- So many that some of them are forgotten before their time.
function tests.nobody_is_trusted_when_more_have_left_than_are_remembered()
	local standin = require("standin")
	local rows, gone = { { "Opool:q", pool_text("e a 1 10.0.0.1 80") } }, {}
	for p = 1, 60 do
		local many = {}
		for i = 1, 100 do
			many[i] = ("e a %x 10.1.%d.%d 80"):format(p * 256 + i, p, i)
		end
		rows[#rows + 1] = { "Opool:p" .. p, pool_text(unpack(many)) }
		gone[p] = { "Opool:p" .. p, false }
	end
	local _, other = start(rows)
	local pools = require("sluice.pools")
	local function is_anew(id)
		return pools.is_to_be_met_anew(pools.get("q").by_id[id])
	end
	for p = 1, 60 do
		assert(pools.get("p" .. p))
	end
	assert(not is_anew("1"))
	apply(other, 0, gone)
	apply(other, 0, { { "Opool:q", pool_text("e a 1 10.0.0.1 80", "e a 3 10.0.0.3 80") } })
	assert(is_anew("3") and not is_anew("1"))
	standin.now = standin.now + 66
	assert(not is_anew("3"))
end

function tests.requests_under_way_count_once_whatever_changes_meanwhile()
	local _, other = start({ { "Opool:p", pool_text("algo least", "e a 1 10.0.0.1 80") } })
	local pools = require("sluice.pools")
	local peer = pools.pick(pools.get("p"))
	peer.busy = peer.busy + 1
	apply(other, 0, { { "Opool:p", pool_text("algo least", "e a 1 10.0.0.1 80", "e a 2 10.0.0.2 80") } })
	assert(pools.get("p").by_id["1"].busy == 1)
	assert(pools.pick(pools.get("p")).id == "2")
	peer.busy = peer.busy - 1
	assert(pools.get("p").by_id["1"].busy == 0)
end

return tests
