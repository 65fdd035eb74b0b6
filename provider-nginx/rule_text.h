// SPDX-License-Identifier: Apache-2.0
/*
 * Routes, policies and users as the texts of rows, trees (tree_text.h) that lua/sluice/rules.lua, policy.lua and users.lua read. Nothing of them gets into
 * nginx.conf. No I/O.
 *
 *   route:<route name>    its rules, a list each
 *   policy:<policy name>  what it says, a list for each key of the protocol
 *   users:<users name>    name and hash of each, in turn; objects.c
 */
#pragma once

#include "provider-nginx/tree_text.h"
#include "provider-proxy/route_writer.h"

enum {
	RULE_TEXT_LEN_MAX = 256 * 1024, /* of a route or a policy: it lies in nginx's memory */
	USERS_TEXT_LEN_MAX = 2 * 1024 * 1024,
};

/* What struct route_writer asks for. Its context, which may be NULL, is a struct ways that gets those of all policies. */
extern const struct route_writer rule_text_writer;

/* False: they do not fit. */
bool rule_text_users(const struct users *users, struct buf *out);
