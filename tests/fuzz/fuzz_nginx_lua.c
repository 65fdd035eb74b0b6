// SPDX-License-Identifier: Apache-2.0
/* nginx's Lua modules: no input makes one fail, or cost more instructions than a line allows. Patterns count as well (patterns.lua). */
#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	INPUT_MAX = 16 * 1024, /* as much as nginx takes in a line */
	STEP = 1000,           /* instructions between two looks at the count */
	FIXED_BUDGET = 100 * 1000,
	BUDGET_PER_BYTE = 1500, /* of which patterns, which are C in nginx, take most */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static lua_State *state;
static size_t steps_left;

static void on_steps(lua_State *L, lua_Debug *info)
{
	(void)info;
	if (steps_left-- == 0)
		luaL_error(L, "more instructions than the length of the input allows");
}

static void fail(void)
{
	fprintf(stderr, "%s\n", lua_tostring(state, -1));
	abort();
}

static void start(void)
{
	state = luaL_newstate();
	luaL_openlibs(state);
	/* Compiled code calls no hooks. */
	luaJIT_setmode(state, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
	if (luaL_dostring(state, "package.path = '" LUA_PATHS "'") != 0 ||
		luaL_dofile(state, LUA_DRIVER) != 0)
		fail();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len > INPUT_MAX)
		return 0;
	if (state == NULL)
		start();
	lua_pushvalue(state, -1);
	lua_pushlstring(state, (const char *)data, len);
	steps_left = (FIXED_BUDGET + len * BUDGET_PER_BYTE) / STEP;
	lua_sethook(state, on_steps, LUA_MASKCOUNT, STEP);
	if (lua_pcall(state, 1, 0, 0) != 0)
		fail();
	lua_sethook(state, NULL, 0, 0);
	return 0;
}
