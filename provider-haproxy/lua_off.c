// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/lua_off.h"

#include <string.h>

/* HAProxy puts name, number and servers into each object, the objects into tables, and the tables into `core`: all of them are dropped there. Lua has
 * to be kept from looking for garbage meanwhile, which would take longer than making it. */
static const char script[] = "-- Written by Sluice; changes are lost.\n"
			     "local unused = {proxies = true, frontends = true, backends = true}\n"
			     "local proxy = debug.getregistry().Proxy\n"
			     "collectgarbage('stop')\n"
			     "if proxy then\n"
			     "\tproxy.__newindex = function() end\n"
			     "end\n"
			     "setmetatable(core, {__newindex = function(core, name, value)\n"
			     "\tif not unused[name] then\n"
			     "\t\trawset(core, name, value)\n"
			     "\t\treturn\n"
			     "\tend\n"
			     "\tfor key in pairs(value) do\n"
			     "\t\tvalue[key] = nil\n"
			     "\tend\n"
			     "\tcollectgarbage()\n"
			     "end})\n"
			     "-- ";

struct str lua_off_script(void)
{
	return STR(script);
}

bool lua_off_is_loaded(struct str main)
{
	struct str line = STR("/" LUA_OFF_FILE "\n");
	return main.len != 0 && memmem(main.p, main.len, line.p, line.len) != NULL;
}
