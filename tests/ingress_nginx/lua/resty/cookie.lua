-- SPDX-License-Identifier: Apache-2.0
-- Debian has it under another name, in a version without SameSite, which newer ones write behind all else.
local cookie = require("nginx.cookie")
local set = cookie.set

function cookie.set(self, data)
	if data.samesite then
		data.extension = "SameSite=" .. data.samesite
	end
	return set(self, data)
end

return cookie
