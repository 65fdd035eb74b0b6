-- SPDX-License-Identifier: Apache-2.0
-- As much of nginx as the modules need: dictionaries, clock, timers, sockets of the test's making. Loaded before them.
local ffi = require("ffi")
local _M = { now = 1000, log = {}, timers = {}, socket = nil }

-- nginx is linked with them.
_M.libraries = { ffi.load("libpcre2-8.so.0", true), ffi.load("libcrypto.so.3", true), ffi.load("libcrypt.so.1", true) }

local Dict = {}
Dict.__index = Dict

local function dict()
	return setmetatable({ values = {}, flags = {} }, Dict)
end

function Dict:get(key)
	return self.values[key], self.flags[key]
end

function Dict:set(key, value, _, flags)
	self.values[key], self.flags[key] = value, flags
	return true
end

Dict.safe_set = Dict.set

function Dict:add(key, value)
	return self:safe_add(key, value)
end

function Dict:incr(key, by, init)
	local value = (self.values[key] or init) and (self.values[key] or init) + by
	self.values[key] = value
	return value
end

function Dict:safe_add(key, value)
	if self.values[key] ~= nil then
		return false, "exists"
	end
	return self:set(key, value)
end

function Dict:delete(key)
	self.values[key], self.flags[key] = nil, nil
end

function Dict:get_keys()
	local keys = {}
	for key in pairs(self.values) do
		keys[#keys + 1] = key
	end
	return keys
end

ffi.cdef("unsigned long crc32(unsigned long, const char *, unsigned);")
local zlib = ffi.load("libz.so.1")

local function crc32(text)
	return tonumber(zlib.crc32(0, text, #text))
end

-- An empty nginx, and the modules as if nobody had loaded them.
function _M.reset()
	for name in pairs(package.loaded) do
		if name:find("^sluice%.") then
			package.loaded[name] = nil
		end
	end
	_M.now, _M.log, _M.timers = 1000, {}, {}
	_G.ngx = {
		ERR = "error",
		shared = { sluice = dict(), sluice_health = dict(), sluice_limits = dict(), sluice_times = dict() },
		worker = { id = function() return 0 end, exiting = function() return false end, pid = function() return 1 end },
		update_time = function() end,
		decode_base64 = function(text) return text end, -- for whom only what it costs counts
		now = function() return _M.now end,
		log = function(_, ...) _M.log[#_M.log + 1] = table.concat({ ... }) end,
		md5 = function() return ("0"):rep(32) end,
		crc32_long = crc32,
		timer = {
			at = function(_, call, ...) call(false, ...) return true end,
			every = function(_, call) _M.timers[#_M.timers + 1] = call return true end,
		},
		socket = { tcp = function() return _M.socket end },
	}
end

package.preload["resty.lrucache"] = function()
	return {
		new = function()
			local values, ends = {}, {}
			return {
				get = function(_, key) return (not ends[key] or _M.now < ends[key]) and values[key] or nil end,
				set = function(_, key, value, ttl) values[key], ends[key] = value, ttl and _M.now + ttl end,
				delete = function(_, key) values[key] = nil end,
			}
		end,
	}
end
package.preload["ngx.semaphore"] = function() return {} end
package.preload["ngx.ssl"] = function() return {} end
package.preload["resty.core.base"] = function() return { get_request = function() return nil end } end
ffi.cdef [[
typedef struct { int len; const unsigned char *data; } ngx_http_lua_ffi_str_t;
typedef struct { ngx_http_lua_ffi_str_t key, value; } ngx_http_lua_ffi_table_elt_t;
]]
package.preload["resty.core.request"] = function() return {} end
package.preload["resty.core.var"] = function() return {} end
package.preload["ngx.ssl.clienthello"] = function() return {} end

_M.reset()

return _M
