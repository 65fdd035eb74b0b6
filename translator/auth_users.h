// SPDX-License-Identifier: Apache-2.0
/*
 * The users of basic authentication, from the Secret that an Ingress names. What of it cannot be used is told by number, never by name or hash: both are
 * secret. Pure.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* As in PROTOCOL.md. */
enum { AUTH_USERS_MAX = 1000, AUTH_NAME_MAX_LEN = 256, AUTH_HASH_MAX_LEN = 256 };
enum { AUTH_PROBLEMS_MAX = 8 /* that are told one by one */ };

struct auth_users {
	struct auth_user *items; /* sorted by name, without duplicates; views of the record */
	size_t count;
	bool is_missing; /* there is no such Secret, or it has nothing for users */
	const char *problems[AUTH_PROBLEMS_MAX]; /* for their owners */
	size_t problem_count;
};

/* `secret` NULL: there is none. `of_keys`: each key is a name, and its value the hash; otherwise the key `auth` has lines NAME:HASH. */
void auth_users_read(const struct secret_record *secret, struct str name, bool of_keys,
	struct arena *arena, struct auth_users *ret_users);
