-- SPDX-License-Identifier: Apache-2.0
-- Regular expressions by PCRE2, as the translator has compiled them too: that of nginx's Lua module is the older PCRE. A search has a limit of steps.
local ffi = require("ffi")

local _M = { LIMIT = {} } -- LIMIT: in place of groups

ffi.cdef [[
typedef struct sluice_pcre2_code sluice_pcre2_code;
typedef struct sluice_pcre2_data sluice_pcre2_data;
typedef struct sluice_pcre2_context sluice_pcre2_context;
typedef struct sluice_pcre2_stack sluice_pcre2_stack;
sluice_pcre2_code *pcre2_compile_8(const char *, size_t, uint32_t, int *, size_t *, void *);
void pcre2_code_free_8(sluice_pcre2_code *);
int pcre2_jit_compile_8(sluice_pcre2_code *, uint32_t);
sluice_pcre2_data *pcre2_match_data_create_8(uint32_t, void *);
sluice_pcre2_context *pcre2_match_context_create_8(void *);
int pcre2_set_match_limit_8(sluice_pcre2_context *, uint32_t);
sluice_pcre2_stack *pcre2_jit_stack_create_8(size_t, size_t, void *);
void pcre2_jit_stack_assign_8(sluice_pcre2_context *, void *, void *);
int pcre2_match_8(const sluice_pcre2_code *, const char *, size_t, size_t, uint32_t, sluice_pcre2_data *, sluice_pcre2_context *);
size_t *pcre2_get_ovector_pointer_8(sluice_pcre2_data *);
long clock(void);
]]

local STEPS_MAX = 100000
local GROUPS_MAX = 10
-- What searches for one request may take of the processor together. That is looked at whenever they may have taken a part of it since: there are expressions that take
-- the square of a text's length although PCRE2 counts few steps, and some that take all of their steps of any text.
local CPU_MAX_US = 200 * 1000
local LOOK_AFTER = 100 * 1000 * 1000 -- in squares of bytes, some tens of milliseconds
local STEPS_WORK = 5000 * 1000
local JIT_COMPLETE = 1
local NO_MATCH = -1
local STACK_MIN, STACK_MAX = 32 * 1024, 512 * 1024

-- nginx itself is linked with it.
local _, C = pcall(function()
	return ffi.C.pcre2_compile_8 and ffi.C
end)
if type(C) ~= "userdata" then
	C = ffi.load("libpcre2-8.so.0")
end

local data, context, ends -- of each worker
local sub = string.sub

local function prepare()
	data = C.pcre2_match_data_create_8(GROUPS_MAX, nil)
	context = C.pcre2_match_context_create_8(nil)
	C.pcre2_set_match_limit_8(context, STEPS_MAX)
	C.pcre2_jit_stack_assign_8(context, nil, C.pcre2_jit_stack_create_8(STACK_MIN, STACK_MAX, nil))
	ends = C.pcre2_get_ovector_pointer_8(data)
end

-- What search() takes; nil when the text is none.
function _M.compile(text)
	local code = C.pcre2_compile_8(text, #text, 0, ffi.new("int[1]"), ffi.new("size_t[1]"), nil)
	if code == nil then
		return nil
	end
	C.pcre2_jit_compile_8(code, JIT_COMPLETE)
	return ffi.gc(code, C.pcre2_code_free_8)
end

-- No loop: LuaJIT compiles the way of a request around one in pieces.
local function take_groups(groups, text, i, count)
	if i == count then
		return groups
	end
	local from = tonumber(ends[2 * i])
	-- One that has matched nothing begins beyond everything.
	if from <= #text then
		groups[i] = sub(text, from + 1, tonumber(ends[2 * i + 1]))
	end
	return take_groups(groups, text, i + 1, count)
end

-- Its groups, [0] for all of it; nil when it is not found; LIMIT when that would take too long.
function _M.search(code, text)
	if not data then
		prepare()
	end
	local count = C.pcre2_match_8(code, text, #text, 0, 0, data, context)
	if count == NO_MATCH then
		return nil
	elseif count < 0 then
		return _M.LIMIT
	end
	return take_groups({}, text, 0, count == 0 and GROUPS_MAX or count)
end

local function has_time_left(asked)
	local now = C.clock() -- of this worker, in microseconds
	asked.search_began = asked.search_began or now
	return now - asked.search_began < CPU_MAX_US
end

-- Likewise, for a request that rules are looked for; LIMIT also when all searches for it take too long.
function _M.search_for(asked, code, text)
	local work = asked.search_work + #text * (#text + 2048) + STEPS_WORK
	if work > LOOK_AFTER then
		work = 0
		if not has_time_left(asked) then
			return _M.LIMIT
		end
	end
	asked.search_work = work
	return _M.search(code, text)
end

return _M
