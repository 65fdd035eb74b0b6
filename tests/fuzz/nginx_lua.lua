-- SPDX-License-Identifier: Apache-2.0
-- What nginx's Lua reads of strangers' bytes: the first byte of an input says by what it is read.
local standin = require("standin")
for name, call in pairs(require("patterns")) do
	string[name] = call -- luacheck: ignore 122
end

local ssl = require("ngx.ssl")
local uri = require("sluice.uri")
local sticky = require("sluice.sticky")
local route = require("sluice.route")
local tls = require("sluice.tls")
local answer = require("sluice.answer")
local asked = require("sluice.asked")
local decode = require("sluice.decode")
local passwords = require("sluice.passwords")
local pieces = require("sluice.pieces")

local DEEP = ("/a"):rep(64)
local dict = ngx.shared.sluice
for key, value in pairs({
	["Whost:l:a.test"] = "h1", ["Whost:l:*.test"] = "h1", ["Whost:l:*"] = "h1", ["Ph1/"] = "root", ["Ph1" .. DEEP .. "/"] = "deep", ["Wh1/a"] = "exact",
	["!depth"] = 65, ["!longest"] = 200,
}) do
	dict:set(key, value)
end

local readers = {}

function readers.host(text)
	local name = uri.split_host(text)
	if name then
		assert(#name <= 260 and not string.find(name, "/", 1, true))
		uri.parent_of(uri.normal_name(name))
	end
end

function readers.target(text)
	local path = uri.path_of(text)
	if path then
		assert(string.byte(path) == 47 and not string.find(path, "?", 1, true))
		assert(route.find(route.view("https:l"), "x.test", path))
	end
end

function readers.cookies(text)
	local value, rest = sticky.split(text, "sid")
	assert(value or rest == text)
	assert(not rest or #rest <= #text)
end

function readers.server_name(text)
	ssl.server_name = function() return text end
	tls.choose("l", 443)
end

function readers.status(text)
	local health = require("sluice.health")
	local at = 1
	local socket = {}
	for _, name in ipairs({ "settimeouts", "settimeout", "connect", "send", "close" }) do
		socket[name] = function() return true end
	end
	function socket.receiveany(_, most)
		local piece = string.sub(text, at, at + math.min(most, 3) - 1)
		at = at + #piece
		return piece ~= "" and piece or nil
	end
	standin.socket, standin.timers = socket, {}
	dict:set("Opool:p", "proto http\ncheck http 1 5000 1 1 0 /\ne a 1 10.0.0.1 80\n")
	dict:set("Ochecked", "p")
	standin.now = standin.now + 10
	health.start()
	standin.timers[1](false)
end

-- What rules and policies take from a request.
function readers.decoded(text)
	local path = decode.path("/" .. text)
	if path then
		assert(string.byte(path) == 47 and #path <= #text + 1)
		assert(not string.find(decode.encode(path), " ", 1, true))
	end
end

function readers.asked(text)
	local one = { headers = { cookie = text, authorization = "Basic " .. text }, header = "a.test", arguments = "?" .. text, view = {} }
	asked.cookie(one, "sid")
	asked.argument(one, "a b")
	passwords.read("Basic " .. text)
	assert(string.byte(pieces.to_path(text)) == 47)
end

function readers.origin(text)
	local cors = { origins = { ["https://a.test"] = true }, wildcards = { { before = "https://", behind = ".a.test" } } }
	local origin = answer.allowed_origin({ headers = { origin = text } }, cors)
	assert(not origin or origin == text)
end

local names = { "host", "target", "cookies", "server_name", "status", "decoded", "asked", "origin" }

return function(input)
	if input ~= "" then
		readers[names[string.byte(input) % #names + 1]](string.sub(input, 2))
	end
end
