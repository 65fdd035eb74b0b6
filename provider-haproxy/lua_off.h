// SPDX-License-Identifier: Apache-2.0
/*
 * The script for HAProxy's Lua. It frees what Lua takes: HAProxy before 2.8 makes Lua objects of all backends and servers, twice for each of its
 * threads: with two threads a fourth of its memory, and most of the time that it takes to start. And it has policies.lua and those behind it in it. And it is a file of certificates, of one authority that has signed nothing (certs_asking.h): there is no other file that is
 * always there and made anew when it is damaged. No I/O.
 */
#pragma once

#include "common/str.h"

/* In the state folder; HAProxy passes over it when it reads the configuration files there. */
#define LUA_OFF_FILE "haproxy.d/lua-off.lua"

/* Ends so that a checksum behind it is a comment. */
struct str lua_off_script(void);
/* Whether the main file loads the script. */
bool lua_off_is_loaded(struct str main);
