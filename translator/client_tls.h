// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates of clients: what an Ingress wants of them, and the Secret with the authorities, as a virtual host has it. Whose wish counts on a host that
 * several have. Pure.
 */
#pragma once

#include "translator/rules.h"

/* Whether the Ingress of `a` is older, or counts as such. */
bool client_tls_is_older(const struct path_claim *a, const struct path_claim *b);
/* The claim of the oldest Ingress that wants certificates; NULL: none does. Others that want something else are told. `host` is for messages. */
const struct path_claim *client_tls_choose(
	const struct path_claim *claims, size_t count, struct str host, struct diag_list *diags);
/* `secret`: that of the wish; NULL: there is none. NULL, or why nobody can be let in; then `ret_client` says so, too. */
const char *client_tls_settle(const struct client_wish *wish, const struct secret_record *secret,
	struct arena *arena, struct client_tls *ret_client);
