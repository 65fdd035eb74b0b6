-- SPDX-License-Identifier: Apache-2.0
-- Routes (provider-proxy/routes.h): the rules of a path, in order, of which the first that matches is done. Their rows are written by rule_text.c.
local asked_of = require("sluice.asked")
local decode = require("sluice.decode")
local kept = require("sluice.kept")
local pieces = require("sluice.pieces")
local pool_of = require("sluice.pools").get
local regex = require("sluice.regex")
local sessions = require("sluice.sessions")
local tree = require("sluice.tree")

local _M = { LIMIT = regex.LIMIT } -- LIMIT: in place of a rule

local sub, byte = string.sub, string.byte
local SLASH = 47
local LIMIT = regex.LIMIT
local NO_GROUPS = {}

-- ---- conditions ----

local subjects = {
	method = function() return function() return ngx.var.request_method end end,
	header = function(name) return function(asked) return asked_of.header(asked, name) end end,
	cookie = function(name) return function(asked) return asked_of.cookie(asked, name) end end,
	query = function(name)
		return function(asked)
			local value = asked_of.argument(asked, name)
			return value and decode.argument(value)
		end
	end,
}

-- True, false or LIMIT, which is neither.
local matches = {
	exact = function(wanted) return function(_, value) return value == wanted end end,
	present = function() return function() return true end end,
	regex = function(text)
		local code = regex.compile(text)
		return function(asked, value)
			local found = code and regex.search_for(asked, code, value) or (not code and LIMIT)
			return found == LIMIT and LIMIT or found ~= nil and found ~= false
		end
	end,
}

local function condition_of(item)
	local subject, match = subjects[item[2]](item[3]), matches[item[4]](item[5])
	return function(asked)
		local value = subject(asked)
		return value ~= nil and match(asked, value)
	end
end

-- ---- parsing ----

local function pools_of(list)
	local shares, sum = {}, 0
	for i = 2, #list, 2 do
		sum = sum + tonumber(list[i + 1])
		shares[#shares + 1] = { pool = list[i], below = sum }
	end
	return { shares = shares, sum = sum }
end

local function rule_of(list)
	local words, rule = tree.by_word(list), { conditions = {} }
	local function first(word)
		return words[word] and words[word][2]
	end
	rule.path, rule.is_exact, rule.is_closed = first("path"), words.exact ~= nil, words.closed ~= nil
	rule.has_regex = words.regex ~= nil
	rule.regex = words.regex and regex.compile(words.regex[2])
	rule.rest = tonumber(first("rest"))
	rule.client, rule.owner = first("client"), first("owner")
	rule.policy, rule.pool = first("policy"), first("pool")
	rule.pools = words.pools and pools_of(words.pools)
	rule.status = tonumber(first("redirect") or first("answer"))
	rule.location = words.location and pieces.new(words.location, 2)
	rule.text = first("text")
	rule.cookie_path = first("cookie_path")
	rule.canary = words.canary and { main = words.canary[2], pool = words.canary[3], is_loose = words.canary[4] ~= nil }
	rule.place = first("regex") or rule.path
	for _, item in ipairs(list) do
		if item[1] == "if" then
			rule.conditions[#rule.conditions + 1] = condition_of(item)
		end
	end
	return rule
end

local function parse(text)
	local list = tree.parse(text)
	if not list then
		return nil
	end
	local rules = {}
	for i, item in ipairs(list) do
		rules[i] = rule_of(item)
	end
	return rules
end

-- The rules of a route, or nil.
_M.get = kept.new("Wroute:", parse)

-- ---- matching ----

local function has_path(rule, path)
	local wanted = rule.path
	if rule.is_exact then
		return path == wanted
	end
	return sub(path, 1, #wanted) == wanted and (#path == #wanted or byte(path, #wanted + 1) == SLASH)
end

local function take_path(rule, asked)
	asked.groups, asked.rest = NO_GROUPS, ""
	if rule.has_regex then
		local groups = rule.regex and regex.search_for(asked, rule.regex, asked.matched) or (not rule.regex and LIMIT)
		if not groups or groups == LIMIT then
			return groups or false
		end
		asked.groups = groups
		return true
	end
	if rule.path and not has_path(rule, asked.key) then
		return false
	end
	if rule.rest then
		local rest = sub(asked.key, rule.rest + 1)
		asked.rest = asked.is_decoded and decode.plain(rest) or rest
	end
	return true
end

-- Who has a session stays with its pool, and a canary that cannot answer has nobody. Nil: conditions and weights decide.
local function kept_pool_of(canary, asked)
	local main, pool = pool_of(canary.main), pool_of(canary.pool)
	local settings = main and main.sticky
	local tag = settings and settings.affinity and sessions.tag(asked_of.cookie(asked, settings.name))
	if (tag and tag == main.tag) or not main or #main.active == 0 or not pool or #pool.active == 0 then
		return canary.main
	end
	return tag and not canary.is_loose and tag == pool.tag and canary.pool or nil
end

local function takes(rule, asked)
	local outcome = take_path(rule, asked)
	local conditions = rule.conditions
	asked.kept_pool = outcome == true and rule.canary and kept_pool_of(rule.canary, asked) or nil
	if asked.kept_pool then
		return true
	end
	for i = 1, #conditions do
		if outcome ~= true then
			return outcome
		end
		outcome = conditions[i](asked)
	end
	return outcome
end

-- The first that takes the request; nil: none; LIMIT: a regular expression takes too long to tell.
function _M.choose(rules, asked)
	for i = 1, #rules do
		local outcome = takes(rules[i], asked)
		if outcome == LIMIT then
			return LIMIT
		elseif outcome then
			return rules[i]
		end
	end
	return nil
end

-- The name of the rule's pool, of several one by lot; nil: none.
function _M.draw(rule, asked)
	if asked.kept_pool then
		return asked.kept_pool
	end
	local pools = rule.pools
	if not pools then
		return rule.pool
	end
	if pools.sum == 0 then
		return nil
	end
	local lot = math.random(0, pools.sum - 1)
	for _, share in ipairs(pools.shares) do
		if lot < share.below then
			return share.pool
		end
	end
end

return _M
