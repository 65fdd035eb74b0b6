-- SPDX-License-Identifier: Apache-2.0
-- Who has a good password. Checks are made by threads (hashes.lua), so that nobody else waits for them; that a pair was good is remembered for a minute, under a
-- digest with a key that only this worker has.
local ffi = require("ffi")
local lrucache = require("resty.lrucache")
local semaphore = require("ngx.semaphore")
local kept = require("sluice.kept")
local tree = require("sluice.tree")

local _M = { BUSY = {} } -- BUSY: too many are being checked

ffi.cdef "int RAND_bytes(unsigned char *, int);"

local POOL = "sluice_hashes" -- of threads, in nginx.conf.tmpl
local KEY_LEN = 32
local GOOD_FOR_S = 60
local GOOD_MAX = 10000
local CHECKS_MAX = 32 -- at a time, of the users of one policy
local WAIT_S = 10 -- longer than any check takes: whoever began one that takes longer has gone over it
local FAST = "^{S?SHA}" -- no thread is worth it

local good = lrucache.new(GOOD_MAX)
local running = {} -- checks of each list of users, by the digest of the pair
local secret

local sub, find, lower = string.sub, string.find, string.lower
local trim = require("sluice.asked").trim

local function parse(text)
	local list, hashes = tree.parse(text), {}
	for i = 1, list and #list or 0, 2 do
		hashes[list[i]] = list[i + 1]
	end
	return list and hashes
end

local users_of = kept.new("Ousers:", parse)

local function digest_of(name, password, hash)
	if not secret then
		local bytes = ffi.new("unsigned char[?]", KEY_LEN)
		if ffi.C.RAND_bytes(bytes, KEY_LEN) ~= 1 then
			return nil
		end
		secret = ffi.string(bytes, KEY_LEN)
	end
	return ngx.hmac_sha1(secret, #name .. ":" .. name .. #password .. ":" .. password .. hash)
end

local function run(password, hash)
	if find(hash, FAST) then
		return require("sluice.hashes").fits(password, hash)
	end
	local ok, fits = ngx.run_worker_thread(POOL, "sluice.hashes", "fits", password, hash) -- luacheck: ignore 143
	if not ok then
		ngx.log(ngx.ERR, "sluice: a password cannot be checked: ", fits)
		return _M.BUSY
	end
	return fits
end

-- The checks of the list that run, and how many; those whose request ended before they did are forgotten.
local function running_of(list)
	local checks, count, now = running[list] or {}, 0, ngx.now()
	for digest, each in pairs(checks) do
		if each.started + WAIT_S < now then
			checks[digest] = nil
		else
			count = count + 1
		end
	end
	running[list] = checks
	return checks, count
end

-- Several that ask for the same pair at a time wait for one check.
local function check(list, digest, password, hash)
	local checks, count = running_of(list)
	local other = checks[digest]
	if other then
		other.waiting = other.waiting + 1
		other.done:wait(WAIT_S)
		return other.outcome == nil and _M.BUSY or other.outcome
	end
	if count >= CHECKS_MAX then
		return _M.BUSY
	end
	local mine = { done = semaphore.new(), waiting = 0, started = ngx.now() }
	checks[digest] = mine
	mine.outcome = run(password, hash)
	checks[digest] = nil
	if not next(checks) then
		running[list] = nil
	end
	if mine.waiting > 0 then
		mine.done:post(mine.waiting)
	end
	return mine.outcome
end

-- Name and password of an Authorization header; nil when it has none.
function _M.read(header)
	if not header or lower(sub(header, 1, 6)) ~= "basic " then
		return nil
	end
	local pair = ngx.decode_base64(trim(sub(header, 7)))
	local colon = pair and find(pair, ":", 1, true)
	if not colon then
		return nil
	end
	return sub(pair, 1, colon - 1), sub(pair, colon + 1)
end

-- The users of that list, with their hashes, even if there is nobody among them; nil: there is no such list.
_M.users = users_of

-- Whether the header has name and password of one of `users`, which are those of that list; BUSY: nobody can tell now.
function _M.are_good(list, users, header)
	local name, password = _M.read(header)
	local hash = name and users[name]
	local digest = hash and digest_of(name, password, hash)
	if not digest then
		return false
	end
	if good:get(digest) then
		return true
	end
	local outcome = check(list, digest, password, hash)
	if outcome == true then
		good:set(digest, true, GOOD_FOR_S)
	end
	return outcome
end

return _M
