-- SPDX-License-Identifier: Apache-2.0
-- As lock.lua. Which endpoint comes next is not compared.
local _M = {}
function _M.new(self, nodes)
	local one = setmetatable({}, { __index = self })
	one:reinit(nodes)
	return one
end
function _M.reinit(self, nodes)
	self.nodes, self.list, self.at = nodes, {}, 0
	for node in pairs(nodes) do
		self.list[#self.list + 1] = node
	end
	table.sort(self.list)
end
function _M.find(self)
	self.at = self.at % #self.list + 1
	return self.list[self.at]
end
return _M
