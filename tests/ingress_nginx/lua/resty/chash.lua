-- SPDX-License-Identifier: Apache-2.0
-- As roundrobin.lua: the same key gets the same endpoint.
local roundrobin = require("resty.roundrobin")
local _M = setmetatable({}, { __index = roundrobin })
function _M.find(self, key)
	return self.list[ngx.crc32_long(tostring(key)) % #self.list + 1]
end
return _M
