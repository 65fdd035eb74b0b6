// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/lua_off.h"

#include "provider-haproxy/policies.lua.h"

#include <string.h>

/* HAProxy puts name, number and servers into each object, the objects into tables, and the tables into `core`: all of them are dropped there. What an object
 * is given goes into one table for all, which overwrites it; a function would take ten times as long, and so would memory for each. Lua has
 * to be kept from looking for garbage meanwhile, which would take longer than making it. */
#define OBJECTS_OFF                                                              \
	"if ... ~= 'policies' then\n"                                            \
	"\tlocal unused = {proxies = true, frontends = true, backends = true}\n" \
	"\tlocal lost = {}\n"                                                    \
	"\tcollectgarbage('stop')\n"                                             \
	"\tfor _, class in ipairs({'Proxy', 'Server'}) do\n"                     \
	"\t\tlocal methods = debug.getregistry()[class]\n"                       \
	"\t\tif methods then\n"                                                  \
	"\t\t\tmethods.__newindex = lost\n"                                      \
	"\t\tend\n"                                                              \
	"\tend\n"                                                                \
	"\tsetmetatable(core, {__newindex = function(core, name, value)\n"       \
	"\t\tif not unused[name] then\n"                                         \
	"\t\t\trawset(core, name, value)\n"                                      \
	"\t\t\treturn\n"                                                         \
	"\t\tend\n"                                                              \
	"\t\tfor key in pairs(value) do\n"                                       \
	"\t\t\tvalue[key] = nil\n"                                               \
	"\t\tend\n"                                                              \
	"\t\tcollectgarbage()\n"                                                 \
	"\tend})\n"                                                              \
	"end\n"

/* HAProxy asks clients for certificates only where it has an authority to compare them with. Nobody has the key of this one. */
#define AUTHORITY                                                            \
	"--[[\n"                                                             \
	"-----BEGIN CERTIFICATE-----\n"                                      \
	"MIIBeTCCAR+gAwIBAgIUUka6u3vDrrtnMYyjBWx7asbmNPkwCgYIKoZIzj0EAwIw\n" \
	"ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTEyODE1NTYzNVoYDzk5NjYxMTAzMTU1\n" \
	"NjM1WjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n" \
	"AASpGiePwNhXb044cZz/hA0UsI7c576Bv5c4rcw0/K64eoamNdi339PVSCJoppMD\n" \
	"xPazuBuzDTeHErFkOwqz+sSBo1MwUTAdBgNVHQ4EFgQUo5ZiHjW3AQsOi1V2fd2j\n" \
	"M/jq9FQwHwYDVR0jBBgwFoAUo5ZiHjW3AQsOi1V2fd2jM/jq9FQwDwYDVR0TAQH/\n" \
	"BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAvzxUGRjrpRB4od4GZ/Oo1P1KfsGI\n" \
	"mjmdsxpvSTf0Lw4CIFy+uxWs63KJ1Y+EFlBzRiNYZSBvwmbuaz5cTT59m1u7\n"     \
	"-----END CERTIFICATE-----\n"                                        \
	"]]\n"

static const char script[] =
	"-- Written by Sluice; changes are lost.\n" OBJECTS_OFF POLICIES_LUA AUTHORITY "-- ";

struct str lua_off_script(void)
{
	return STR(script);
}

bool lua_off_is_loaded(struct str main)
{
	struct str line = STR("/" LUA_OFF_FILE "\n");
	return main.len != 0 && memmem(main.p, main.len, line.p, line.len) != NULL;
}
