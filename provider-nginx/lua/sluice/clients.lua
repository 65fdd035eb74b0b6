-- SPDX-License-Identifier: Apache-2.0
-- Certificates of clients (PROTOCOL.md, section 5.3, step 2). Rows `client:LB:HOST` (asking_text.c) say which hosts want them; rules of such hosts name the row.
--
-- What is wanted stands in the context of a connection's TLS session, so that a session is taken up again only where the same is wanted, and a request can tell by
-- which authorities its connection was checked. Whether the certificate is good says OpenSSL, in the handshake.
local kept = require("sluice.kept")
local pieces = require("sluice.pieces")
local regex = require("sluice.regex")
local store = require("sluice.store")
local tree = require("sluice.tree")
local uri = require("sluice.uri")
local ffi = require("ffi")
local ssl = require("ngx.ssl")
local hello = require("ngx.ssl.clienthello")
local get_request = require("resty.core.base").get_request

local _M = {}

ffi.cdef [[
typedef struct sluice_x509_crl sluice_x509_crl;
typedef struct sluice_bio sluice_bio;
void *ngx_http_lua_ffi_get_req_ssl_pointer(void *r, const char **err);
int SSL_set_session_id_context(void *, const unsigned char *, unsigned int);
void *SSL_get_session(const void *);
const unsigned char *SSL_SESSION_get0_id_context(const void *, unsigned int *);
long SSL_ctrl(void *, int, long, void *);
int X509_STORE_add_crl(void *, sluice_x509_crl *);
int X509_STORE_set_flags(void *, unsigned long);
sluice_bio *BIO_new_mem_buf(const void *, int);
int BIO_free(sluice_bio *);
sluice_x509_crl *PEM_read_bio_X509_CRL(sluice_bio *, void *, void *, void *);
void X509_CRL_free(sluice_x509_crl *);
void ERR_clear_error(void);
]]

local C = ffi.C
local GET_VERIFY_STORE = 137 -- SSL_CTRL_GET_VERIFY_CERT_STORE
local CRL_CHECK_ALL = 12 -- X509_V_FLAG_CRL_CHECK and X509_V_FLAG_CRL_CHECK_ALL
local NAME_LEN_MAX = 254
local HEADERS = { "ssl-client-verify", "ssl-client-subject-dn", "ssl-client-issuer-dn", "ssl-client-cert" }

local function parse(text, name)
	local list = tree.parse(text)
	if not list then
		return nil
	end
	local words = tree.by_word(list)
	local function first(word)
		return words[word] and words[word][2]
	end
	return {
		ca = first("ca"), crl = first("crl"), verify = first("verify"), depth = tonumber(first("depth")), subject = first("subject"),
		error_location = words.error_location and pieces.new(words.error_location, 2), error_path = first("error_path"), passed = words.passed ~= nil,
		is_unasked = words.unasked ~= nil, context = ngx.md5_bin(#name .. ":" .. name .. text),
	}
end

local get = kept.new("Wclient:", parse)

-- What `of(LB:HOST)` says of the host of a server name; nil: nothing, or there is none.
function _M.of_host(of, lb, name)
	if not name or #name > NAME_LEN_MAX then
		return nil
	end
	local host = uri.normal_name(name)
	if not store.get("Whost:" .. lb .. ":" .. host) then
		local parent = uri.parent_of(host)
		host = parent and store.get("Whost:" .. lb .. ":*" .. parent) and "*" .. parent or "*"
	end
	return of(lb .. ":" .. host)
end

local problem = ffi.new("const char *[1]")

-- That of the handshake or the request, for OpenSSL; nil: there is none.
local function connection()
	local link = C.ngx_http_lua_ffi_get_req_ssl_pointer(get_request(), problem)
	return link ~= nil and link or nil
end

_M.connection = connection

-- ---- in handshakes ----

-- For ssl_client_hello_by_lua, before a session is taken up again.
function _M.begin(lb)
	local wanted = _M.of_host(get, lb, hello.get_client_hello_server_name())
	if not wanted or wanted.is_unasked then
		return
	end
	local link = connection()
	if not link or C.SSL_set_session_id_context(link, wanted.context, #wanted.context) ~= 1 then
		return ngx.exit(ngx.ERROR)
	end
end

local function add_revoked(store_of, text)
	local bio = C.BIO_new_mem_buf(text, #text)
	local count = 0
	while bio ~= nil do
		local crl = C.PEM_read_bio_X509_CRL(bio, nil, nil, nil)
		if crl == nil then
			break
		end
		count = count + C.X509_STORE_add_crl(store_of, crl)
		C.X509_CRL_free(crl)
	end
	if bio ~= nil then
		C.BIO_free(bio)
	end
	C.ERR_clear_error()
	return count > 0 and C.X509_STORE_set_flags(store_of, CRL_CHECK_ALL) == 1
end

-- For ssl_certificate_by_lua: asks for a certificate where one is wanted. False: that cannot be.
function _M.ask(lb, name)
	local wanted = _M.of_host(get, lb, name)
	if not wanted or not wanted.ca or wanted.is_unasked then
		return true
	end
	wanted.authorities = wanted.authorities or ssl.parse_pem_cert(wanted.ca)
	local link = connection()
	if not wanted.authorities or not link or not ssl.verify_client(wanted.authorities, wanted.depth - 1) then
		return false
	end
	if not wanted.crl then
		return true
	end
	local place = ffi.new("void *[1]")
	return C.SSL_ctrl(link, GET_VERIFY_STORE, 0, place) == 1 and place[0] ~= nil and add_revoked(place[0], wanted.crl)
end

-- ---- in requests ----

-- Whether the connection was made by what is wanted now.
local function fits_connection(wanted)
	local link, length = connection(), ffi.new("unsigned int[1]")
	local session = link and C.SSL_get_session(link)
	if session == nil then
		return false
	end
	local context = C.SSL_SESSION_get0_id_context(session, length)
	return ffi.string(context, length[0]) == wanted.context
end

local function has_subject(wanted, dn)
	wanted.code = wanted.code or regex.compile(wanted.subject)
	local found = wanted.code and regex.search(wanted.code, dn)
	return found ~= nil and found ~= false and found ~= regex.LIMIT
end

-- As it counts for the host: what another one has asked for on the same connection says nothing here.
local function state_of(wanted)
	return not wanted.is_unasked and ngx.var.ssl_client_verify or "NONE"
end

local function subject_of(wanted)
	return not wanted.is_unasked and ngx.var.ssl_client_s_dn or ""
end

-- Whether the connection was made for the host, by what it wants now.
local function is_made_for(asked, wanted)
	return uri.normal_name(ngx.var.ssl_server_name or "") == asked.name and fits_connection(wanted)
end

-- nil: the client may go on; otherwise status, text and perhaps headers of its answer; or nil, and last the path that is to be answered for it.
function _M.refusal(asked, key)
	local wanted = get(key)
	if not wanted then
		return 503, "closed\n"
	elseif not asked.view.is_tls then
		if wanted.subject then
			return 403, "forbidden\n"
		end
		return nil
	elseif not wanted.ca then
		return 403, "forbidden\n"
	elseif not wanted.is_unasked and not is_made_for(asked, wanted) then
		return 421, "another connection is needed\n"
	end
	local state = state_of(wanted)
	local is_good = state == "SUCCESS" or (state == "NONE" and wanted.verify == "optional") or wanted.verify == "asked"
	-- A request that has come here for its want of a certificate is not sent there again.
	if not is_good and asked.is_page then
		is_good = true
	elseif not is_good and wanted.error_path then
		return nil, nil, nil, wanted.error_path
	end
	if not is_good and wanted.error_location then
		return 302, "", { "Location", wanted.error_location(asked) }
	elseif not is_good then
		return 400, "no certificate that would do\n"
	elseif wanted.subject and not has_subject(wanted, subject_of(wanted)) then
		return 403, "forbidden\n"
	end
	return nil
end

-- The backend hears what the certificate is, and never what the client says of it.
function _M.set_headers(asked, key)
	local wanted, var = get(key), ngx.var
	for _, name in ipairs(HEADERS) do
		ngx.req.clear_header(name)
	end
	if not wanted or not asked.view.is_tls then
		return
	end
	local state = state_of(wanted)
	ngx.req.set_header("ssl-client-verify", state)
	if state == "NONE" then
		return
	end
	ngx.req.set_header("ssl-client-subject-dn", var.ssl_client_s_dn)
	ngx.req.set_header("ssl-client-issuer-dn", var.ssl_client_i_dn)
	if wanted.passed then
		ngx.req.set_header("ssl-client-cert", var.ssl_client_escaped_cert)
	end
end

return _M
