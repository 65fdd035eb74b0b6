-- SPDX-License-Identifier: Apache-2.0
-- The certificate of a handshake: `sni:HOST` among the object rows (`O`) names it for a server name (exact, or `*.x` for one label), `default:LB:PORT` for clients whose name
-- fits none; `cert:CERTIFICATE` holds it: the length of the chain, a line end, the chain, the key, both in PEM.
-- Without any the handshake goes on with the placeholder of the configuration.
-- To parse a pair takes longer than the rest of a handshake, so a worker keeps what it has parsed.
local cache = require("sluice.cache")
local clients = require("sluice.clients")
local handshakes = require("sluice.handshakes")
local store = require("sluice.store")
local uri = require("sluice.uri")
local ffi = require("ffi")
local ssl = require("ngx.ssl")

local _M = { CACHE_BYTES_MAX = 96 * 1024 * 1024 } -- in each worker

local gsub, match, max, sub = string.gsub, string.match, math.max, string.sub
local NAME_LEN_MAX = 254 -- with a dot behind it
-- What a certificate or key takes when it is parsed, rounded up: so much with a text of usual length, and so much for each byte beyond that, for it is names
-- that make certificates long.
local USUAL_LENGTH, USUAL_BYTES, BYTES_BEYOND = 1024, 5120, 5

-- Now, with the key wiped, and not when the garbage collector comes round, which does not know how much memory they take. Connections that use them have
-- references of their own.
local function free(pair)
	ffi.C.ngx_http_lua_ffi_free_cert(ffi.gc(pair.chain, nil))
	ffi.C.ngx_http_lua_ffi_free_priv_key(ffi.gc(pair.key, nil))
end

local parsed = cache.new(_M.CACHE_BYTES_MAX, free)

local function size_of(text)
	local _, blocks = gsub(text, "-----BEGIN ", "")
	return blocks * USUAL_BYTES + max(0, #text - blocks * USUAL_LENGTH) * BYTES_BEYOND
end

local function parse(text)
	local length, rest = match(text, "^(%d+)\n(.*)$")
	local chain, problem = ssl.parse_pem_cert(sub(rest, 1, tonumber(length)))
	if not chain then
		return nil, problem
	end
	local key
	key, problem = ssl.parse_pem_priv_key(sub(rest, tonumber(length) + 1))
	if not key then
		return nil, problem
	end
	return { chain = chain, key = key }
end

local function certificate(id)
	local text = store.get("Ocert:" .. id)
	if not text then
		return nil
	end
	local digest = ngx.md5_bin(text)
	local pair = parsed:get(id)
	if not pair or pair.digest ~= digest then
		local problem
		pair, problem = parse(text)
		if not pair then
			ngx.log(ngx.ERR, "sluice: certificate ", id, ": ", problem)
			return nil
		end
		pair.digest = digest
		parsed:set(id, pair, size_of(text))
	end
	return pair
end

local function id_of(name)
	if #name > NAME_LEN_MAX then
		return nil
	end
	name = uri.normal_name(name)
	local id = store.get("Osni:" .. name)
	if not id then
		local parent = uri.parent_of(name)
		id = parent and store.get("Osni:*" .. parent)
	end
	return id
end

-- For ssl_certificate_by_lua of the listener `port` of the load balancer `lb`.
function _M.choose(lb, port)
	local name = ssl.server_name()
	if not clients.ask(lb, name) then
		ngx.log(ngx.ERR, "sluice: the client cannot be asked for a certificate")
		return ngx.exit(ngx.ERROR)
	end
	if not handshakes.choose(lb, name) then
		ngx.log(ngx.ERR, "sluice: OpenSSL has none of the ciphers of the host")
		return ngx.exit(ngx.ERROR)
	end
	local id = name and id_of(name)
	local pair = id and certificate(id)
	if not pair then
		id = store.get("Odefault:" .. lb .. ":" .. port)
		pair = id and certificate(id)
	end
	if not pair then
		return
	end
	ssl.clear_certs()
	local ok, problem = ssl.set_cert(pair.chain)
	if ok then
		ok, problem = ssl.set_priv_key(pair.key)
	end
	if not ok then
		ngx.log(ngx.ERR, "sluice: certificate ", id, ": ", problem)
		return ngx.exit(ngx.ERROR)
	end
end

return _M
