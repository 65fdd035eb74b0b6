// SPDX-License-Identifier: Apache-2.0
/* From a pool to the class of its slot: those settings of its backend that cannot be changed at run time. No I/O. */
#pragma once

#include "proto/model.h"
#include "provider-proxy/trust.h"

struct class_text {
	char *lines; /* freed by class_text_fini() */
	char *server;
};

/* Settings of the pool that cannot be rendered are left out; *ret_refused then says which, else NULL. */
struct class_text class_of_pool(
	const struct pool *pool, const char *cookie_key, const char **ret_refused);
/* Both pass render_is_path(). */
struct class_paths {
	const char *state_dir;
	const char *system_ca; /* file of CAs that the machine trusts; NULL: the system's default */
};

/* The TLS keywords of each server of a pool with TLS that trust_of() has accepted; to be freed by the caller. */
char *class_words_of_tls(
	const struct pool *pool, const struct trust *trust, const struct class_paths *paths);
void class_text_fini(struct class_text *text);
