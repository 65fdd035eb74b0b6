-- SPDX-License-Identifier: Apache-2.0
-- Which ciphers of TLS 1.2 are taken for a server name, and in whose order. Rows `handshake:LB:HOST` (rule_text.c): a sign, `s` for the server's order and `c` for the
-- client's, and OpenSSL's names with colons between them, which may be none.
--
-- OpenSSL chooses the cipher when the certificate is known, so what is said here counts for the same connection. Ciphers of TLS 1.3 are chosen before, and are others.
local clients = require("sluice.clients")
local kept = require("sluice.kept")
local ffi = require("ffi")

local _M = {}

ffi.cdef [[
int SSL_set_cipher_list(void *, const char *);
unsigned long SSL_set_options(void *, unsigned long);
unsigned long SSL_clear_options(void *, unsigned long);
]]

local C = ffi.C
local sub = string.sub
local SERVER_PREFERENCE = 0x00400000 -- SSL_OP_CIPHER_SERVER_PREFERENCE

local get = kept.new("Whandshake:", function(text)
	return { is_of_server = sub(text, 1, 1) == "s", ciphers = sub(text, 2) }
end)

-- For ssl_certificate_by_lua. False: that cannot be, and no other ciphers are to be taken.
function _M.choose(lb, name)
	local wanted = clients.of_host(get, lb, name or "")
	if not wanted then
		return true
	end
	local link = clients.connection()
	if not link then
		return false
	end
	if wanted.is_of_server then
		C.SSL_set_options(link, SERVER_PREFERENCE)
	else
		C.SSL_clear_options(link, SERVER_PREFERENCE)
	end
	local is_good = wanted.ciphers == "" or C.SSL_set_cipher_list(link, wanted.ciphers) == 1
	C.ERR_clear_error()
	return is_good
end

return _M
