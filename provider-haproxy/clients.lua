-- SPDX-License-Identifier: Apache-2.0
-- Behind checks.lua: step 2 of section 5.3 of PROTOCOL.md, certificates of clients. HAProxy asks for one where a host wants that (certs_asking.h), takes any, and
-- knows that the client has its key. Whether it is good by the authorities that the host names now says sluice-proxy (clients.h has the rows), so it counts at once what
-- they are, and no session that is taken up again brings a client further than its certificate would.
local split, decode, check = sluice.split, sluice.decode, sluice.check

local headers = {"ssl-client-verify", "ssl-client-subject-dn", "ssl-client-issuer-dn", "ssl-client-cert"}
local chain_len_max = 12 * 1024
local leaf_len_max = 8 * 1024

local verdicts = check.new_memory(5000, 60)
-- What clients have sent besides: a session that is taken up again has the certificate alone. HAProxy keeps sessions for five minutes.
local chains = check.new_memory(200, 600)

local function read(row)
	local fields = split(row, "|")
	return {
		verify = fields[1], depth = fields[2], subject = decode(fields[3]), location = fields[4], is_passed = fields[5] == "p",
		authorities = fields[6] ~= "" and fields[6] or nil,
	}
end

local function unhex(text)
	return (text:gsub("%x%x", function(digits)
		return string.char(tonumber(digits, 16))
	end))
end

-- Of the connection: certificate, and what else was sent. nil: none.
local function shown(txn)
	local leaf = txn.f:ssl_c_der()
	if not leaf or leaf == "" or #leaf > leaf_len_max then
		return nil
	end
	local chain = txn.f:ssl_c_chain_der() or ""
	local key = check.digest_of(txn, "chain", leaf)
	if chain ~= "" and #chain <= chain_len_max then
		chains.set(key, chain)
	else
		chain = chains.get(key) or ""
	end
	return leaf, chain
end

-- { state, subject, issuer }, as the backend hears it; nil: nobody can tell.
local function verdict_of(txn, wanted)
	local leaf, chain = shown(txn)
	if not leaf then
		return {"NONE", "", ""}
	end
	local digest = check.digest_of(txn, "certificate", wanted.authorities, wanted.depth, leaf, chain)
	local known = verdicts.get(digest)
	if known then
		return known
	end
	local answer = check.ask(wanted.authorities, digest, table.concat({
		"certificate", wanted.authorities, wanted.depth, check.hex(decode(txn:get_var("txn.ca"))), check.hex(leaf), check.hex(chain),
		check.hex(decode(txn:get_var("txn.crl") or "")),
	}, " "))
	local words = answer and split(answer, " ")
	local made = words and words[1] == "good" and {"SUCCESS", unhex(words[2]), unhex(words[3])}
		or words and words[1] == "bad" and {"FAILED:" .. unhex(words[2]), unhex(words[3]), unhex(words[4])}
	if made then
		verdicts.set(digest, made)
	end
	return made
end

local function escaped(txn, der)
	local lines = {"-----BEGIN CERTIFICATE-----"}
	for line in txn.c:base64(der):gmatch(("."):rep(64, "?")) do
		lines[#lines + 1] = line ~= "" and line or nil
	end
	lines[#lines + 1] = "-----END CERTIFICATE-----\n"
	return (table.concat(lines, "\n"):gsub("[^%w%-._~]", function(byte)
		return string.format("%%%02X", byte:byte())
	end))
end

-- The backend hears what the certificate is, and never what the client says of it.
local function tell(txn, wanted, verdict)
	for _, name in ipairs(headers) do
		txn.http:req_del_header(name)
	end
	if not verdict then
		return
	end
	txn.http:req_set_header("ssl-client-verify", verdict[1])
	if verdict[1] == "NONE" then
		return
	end
	txn.http:req_set_header("ssl-client-subject-dn", verdict[2])
	txn.http:req_set_header("ssl-client-issuer-dn", verdict[3])
	if wanted.is_passed then
		txn.http:req_set_header("ssl-client-cert", escaped(txn, txn.f:ssl_c_der()))
	end
end

local function normal(name)
	return (name or ""):lower():gsub("%.$", "")
end

-- The status of what the client gets instead; nil: it may go on, and what there is to tell.
local function refusal(txn, wanted)
	if txn.f:ssl_fc() ~= 1 then
		return wanted.subject ~= "" and 403 or nil
	elseif not wanted.authorities then
		return 403
	elseif wanted.verify ~= "unasked" and normal(txn.f:ssl_fc_sni()) ~= normal(txn:get_var("txn.h")) then
		return 421
	end
	-- What another host has asked for on the same connection says nothing here.
	local verdict = wanted.verify == "unasked" and {"NONE", "", ""} or verdict_of(txn, wanted)
	if not verdict then
		return 503
	end
	local is_good = verdict[1] == "SUCCESS" or verdict[1] == "NONE" and wanted.verify == "optional" or wanted.verify == "asked" or wanted.verify == "unasked"
	if not is_good then
		return wanted.location ~= "" and 302 or 400
	elseif wanted.subject ~= "" and not sluice.is_found(verdict[2], wanted.subject) then
		return 403
	end
	return nil, verdict
end

-- `txn.known` is what lets the request pass: without it there was an error.
local function check_client(txn)
	local row = txn:get_var("txn.client_row")
	if not row then
		return
	end
	local wanted = read(row)
	local status, verdict = refusal(txn, wanted)
	if status == 302 then
		txn:set_var("txn.l", sluice.value_of(txn, wanted.location))
	end
	if status then
		txn:set_var("txn.unknown", tostring(status))
		return
	end
	tell(txn, wanted, verdict)
	txn:set_var("txn.known", "yes")
end

local texts = {
	["400"] = "no certificate that would do\n", ["403"] = "forbidden\n", ["421"] = "another connection is needed\n", ["503"] = "nobody can tell\n",
}

local function refuse(applet)
	local status = applet:get_var("txn.unknown") or "503"
	sluice.send(applet, tonumber(status), texts[status], status == "302" and {{"location", applet:get_var("txn.l")}})
end

if core.thread == 0 then
	core.register_action("sluice_check_client", {"http-req"}, check_client)
else
	core.register_service("sluice_refuse_client", "http", refuse)
end
