-- SPDX-License-Identifier: Apache-2.0
-- The certificate of a handshake: `sni:HOST` among the object rows (`O`) names it for a server name (exact, or `*.x` for one label), `default:LB:PORT` for clients whose name
-- fits none; `cert:CERTIFICATE` holds it: the length of the chain, a line end, the chain, the key, both in PEM.
-- Without any the handshake goes on with the placeholder of the configuration.
local store = require("sluice.store")
local uri = require("sluice.uri")
local lrucache = require("resty.lrucache")
local ssl = require("ngx.ssl")

local _M = {}

local cache = lrucache.new(2000)
local match, sub = string.match, string.sub
local NAME_LEN_MAX = 254 -- with a dot behind it

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
	return { text = text, chain = chain, key = key }
end

local function certificate(id)
	local text = store.get("Ocert:" .. id)
	if not text then
		return nil
	end
	local pair = cache:get(id)
	if not pair or pair.text ~= text then
		local problem
		pair, problem = parse(text)
		if not pair then
			ngx.log(ngx.ERR, "sluice: certificate ", id, ": ", problem)
			return nil
		end
		cache:set(id, pair)
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
