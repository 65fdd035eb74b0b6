-- SPDX-License-Identifier: Apache-2.0
-- Whether a password fits a hash. Checking takes long on purpose, so this runs in threads that serve nobody, each of which has a Lua of its own: nothing of nginx is
-- at hand here.
local ffi = require("ffi")
local bit = require("bit")

local _M = {}

ffi.cdef [[
char *crypt_r(const char *, const char *, void *);
unsigned char *MD5(const unsigned char *, size_t, unsigned char *);
unsigned char *SHA1(const unsigned char *, size_t, unsigned char *);
]]

local C = ffi.C
local sub, match, find, byte, char, rep = string.sub, string.match, string.find, string.byte, string.char, string.rep
local CRYPT_DATA_LEN = 32768
local ROUNDS_MAX = 1000000
local COST_MAX = 15 -- of bcrypt: some seconds
local MD5_LEN, SHA1_LEN = 16, 20
local APR1_ROUNDS = 1000
local ITOA64 = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local crypt_data, digest = nil, ffi.new("unsigned char[?]", SHA1_LEN)

local function md5(text)
	C.MD5(text, #text, digest)
	return ffi.string(digest, MD5_LEN)
end

local function sha1(text)
	C.SHA1(text, #text, digest)
	return ffi.string(digest, SHA1_LEN)
end

-- Whether two texts are the same, in a time that tells nothing of where they differ.
local function are_equal(a, b)
	local difference = bit.bxor(#a, #b)
	for i = 1, #a do
		difference = bit.bor(difference, bit.bxor(byte(a, i), byte(b, i) or 0))
	end
	return difference == 0
end

local function decode_base64(text)
	local bytes, bits, held = {}, 0, 0
	for i = 1, #text do
		local digit = find(BASE64, sub(text, i, i), 1, true)
		if not digit then
			break
		end
		bits, held = bit.bor(bit.lshift(bit.band(bits, 0xffff), 6), digit - 1), held + 6
		if held >= 8 then
			held = held - 8
			bytes[#bytes + 1] = char(bit.band(bit.rshift(bits, held), 255))
		end
	end
	return table.concat(bytes)
end

-- ---- {SHA} and {SSHA} ----

local function fits_sha(password, hash)
	return are_equal(sha1(password), decode_base64(sub(hash, 6)))
end

local function fits_salted_sha(password, hash)
	local bytes = decode_base64(sub(hash, 7))
	return #bytes >= SHA1_LEN and are_equal(sha1(password .. sub(bytes, SHA1_LEN + 1)), sub(bytes, 1, SHA1_LEN))
end

-- ---- $apr1$ ----

local function to64(value, count)
	local digits = {}
	for i = 1, count do
		local at = bit.band(value, 63) + 1
		digits[i] = sub(ITOA64, at, at)
		value = bit.rshift(value, 6)
	end
	return table.concat(digits)
end

local function write_apr1(final)
	local function three(a, b, c)
		local x, y, z = byte(final, a + 1), byte(final, b + 1), byte(final, c + 1)
		return to64(bit.bor(bit.lshift(x, 16), bit.lshift(y, 8), z), 4)
	end
	return three(0, 6, 12) .. three(1, 7, 13) .. three(2, 8, 14) .. three(3, 9, 15) .. three(4, 10, 5) .. to64(byte(final, 12), 2)
end

local function begin_apr1(password, salt)
	local other = md5(password .. salt .. password)
	local text = password .. "$apr1$" .. salt .. sub(rep(other, math.ceil(#password / MD5_LEN)), 1, #password)
	local parts, left = { text }, #password
	while left > 0 do
		parts[#parts + 1] = left % 2 == 1 and "\0" or sub(password, 1, 1)
		left = math.floor(left / 2)
	end
	return md5(table.concat(parts))
end

local function apr1(password, salt)
	local final = begin_apr1(password, salt)
	for i = 0, APR1_ROUNDS - 1 do
		final = md5((i % 2 == 1 and password or final) .. (i % 3 ~= 0 and salt or "") .. (i % 7 ~= 0 and password or "") ..
			(i % 2 == 1 and final or password))
	end
	return write_apr1(final)
end

local function fits_apr1(password, hash)
	local salt, rest = match(hash, "^%$apr1%$([^$]*)%$(.*)$")
	return salt ~= nil and #salt <= 8 and are_equal(apr1(password, salt), rest)
end

-- ---- crypt() ----

local function is_affordable(hash)
	local rounds = match(hash, "^%$[56]%$rounds=(%d+)%$")
	local cost = match(hash, "^%$2[aby]%$(%d%d)%$")
	return (not rounds or tonumber(rounds) <= ROUNDS_MAX) and (not cost or tonumber(cost) <= COST_MAX)
end

local function fits_crypt(password, hash)
	crypt_data = crypt_data or ffi.new("char[?]", CRYPT_DATA_LEN)
	if not is_affordable(hash) then
		return false
	end
	local result = C.crypt_r(password, hash, crypt_data)
	local fits = result ~= nil and are_equal(ffi.string(result), hash)
	ffi.fill(crypt_data, CRYPT_DATA_LEN)
	return fits
end

local KINDS = {
	{ "{SHA}", fits_sha }, { "{SSHA}", fits_salted_sha }, { "$apr1$", fits_apr1 }, { "$1$", fits_crypt }, { "$5$", fits_crypt }, { "$6$", fits_crypt },
	{ "$2a$", fits_crypt }, { "$2b$", fits_crypt }, { "$2y$", fits_crypt },
}

-- False also for a hash of no known kind, or one that takes too long.
function _M.fits(password, hash)
	-- Where crypt() would stop reading.
	if find(password, "\0", 1, true) then
		return false
	end
	for _, kind in ipairs(KINDS) do
		if sub(hash, 1, #kind[1]) == kind[1] then
			return kind[2](password, hash)
		end
	end
	return false
end

return _M
