-- SPDX-License-Identifier: Apache-2.0
-- Step 17 of section 5.3 of PROTOCOL.md: another pool answers in place of an error.
local decode = require("sluice.decode")
local headers = require("sluice.headers")
local pieces = require("sluice.pieces")
local pools = require("sluice.pools")
local question = require("sluice.question")

local _M = { STATUS = 597 } -- STATUS: for which nginx.conf.tmpl has a location, in place of the backend's

local find, match, sub = string.find, string.match, string.sub
local HEADERS_MAX = 256
local OWN_VARIABLES = {
	"sluice_set_host", "sluice_set_for", "sluice_set_proto", "sluice_set_forwarded_host", "sluice_set_port", "sluice_set_real_ip", "sluice_set_forwarded",
	"sluice_upgrade", "sluice_connection", "sluice_client", "sluice_client_key",
}

-- The pool that answers in place of this status, or the status that does; both nil: it stays. `is_backend`: it is the backend's.
function _M.instead_of(asked, status, is_backend)
	local pages = asked.has_begun and not asked.is_error and asked.policy and asked.policy.error_pages
	if not pages or not pages.statuses[status] or (is_backend and pages.own_only) then
		return nil
	end
	local pool = pools.get(pages.pool)
	if pool and #pool.active > 0 then
		return pool
	end
	return nil, pages.missing
end

function _M.is_replaced(asked, status, is_backend)
	local pool, missing = _M.instead_of(asked, status, is_backend)
	return pool ~= nil or missing ~= nil
end

-- The challenge of an answer that is going to be replaced.
function _M.keep_challenge(asked, challenge)
	asked.challenge = asked.policy.error_pages.bare and challenge or nil
end

-- From now on the request is answered in place of an error.
function _M.begin(asked, status)
	asked.is_error, asked.error_status = true, status
end

-- Whether the answer is what takes the place of an error, and that as it is.
function _M.is_bare(asked)
	return asked.is_error and asked.policy.error_pages.bare
end

-- Whether the head that is being looked at has come from a backend.
function _M.is_of_backend()
	local last = match(sub(ngx.var.upstream_header_time or "-", -64), "([^,: ]+)[,: ]*$")
	return last ~= nil and last ~= "-"
end

-- As they were sent, but for what is ours to say.
local function restore_headers(asked)
	local sent = asked.headers
	for name in pairs(ngx.req.get_headers(HEADERS_MAX)) do
		if not sent[name] and not question.is_kept(name) then
			ngx.req.clear_header(name)
		end
	end
	for name, value in pairs(sent) do
		if headers.is_claim(name) then
			ngx.req.clear_header(name)
		elseif not question.is_kept(name) then
			ngx.req.set_header(name, value)
		end
	end
end

-- The request becomes the one that the pool is asked; `change` does changes of headers.
function _M.prepare(asked, pool, status, change)
	local pages, var = asked.policy.error_pages, ngx.var
	_M.begin(asked, status)
	restore_headers(asked)
	for _, name in ipairs(OWN_VARIABLES) do
		var[name] = ""
	end
	var.sluice_forwarded, var.sluice_server_name = headers.forwarded(var, asked.header, asked.name)
	local target = pages.target and pieces.to_target(pages.target(asked)) or "/"
	change(asked, pages.request_headers or {})
	if pool.proto == "h2c" or pool.proto == "h2" then
		local at = find(target, "?", 1, true) or #target + 1
		ngx.req.set_uri(decode.plain(sub(target, 1, at - 1)), false, true)
		ngx.req.set_uri_args(sub(target, at + 1))
	else
		var.sluice_target = target
	end
end

-- As the row of a policy has it.
function _M.parse(words, parts)
	local pages = {
		pool = words.pool and words.pool[2] or "", statuses = {}, own_only = words.own_only ~= nil, bare = words.bare ~= nil,
		missing = words.missing and tonumber(words.missing[2]), target = parts.text(words.target),
		request_headers = words.request_headers and parts.changes(words.request_headers),
	}
	for i = 2, #words.statuses do
		pages.statuses[tonumber(words.statuses[i])] = true
	end
	return pages
end

return _M
