// SPDX-License-Identifier: Apache-2.0
/* What the files of the dialect share; for nobody else. */
#pragma once

#include "translator/dialects/ingress_nginx.h"
#include "translator/dialects/ingress_nginx_options.h"
#include "translator/pieces.h"

struct nginx_reader {
	const struct dialect *d;
	struct nginx_values *v;
	struct nginx_teller teller;
	uint64_t said; /* words that sluice.io/ annotations have said already */
	uint64_t https_port;
};

#define NGINX_NEW(reader_, type_) ((type_ *)arena_alloc((reader_)->d->arena, sizeof(type_)))

/* Whether what the word stands for is still to be said. If a sluice.io/ annotation has said it already, the owner is told that `row`, if it is set, does not
 * count. Otherwise the word is asked for on behalf of the row; if that is not set, without naming anybody, as the dialect's default. */
bool nginx_ask(const struct nginx_reader *r, enum policy_bit word, enum nginx_row row);
/* Asks for it on behalf of a global option, which the field names; NULL: of the dialect. */
void nginx_ask_option(const struct nginx_reader *r, enum policy_bit word, const char *field);
struct str nginx_text(const struct nginx_reader *r, enum nginx_row row);
bool nginx_has(const struct nginx_reader *r, enum nginx_row row);

/* Adds a text with nginx's variables: $name and ${name}, of which a fixed set is known, and $1 to $9. NULL, or what is wrong. */
const char *nginx_pieces_add(struct pieces *pieces, struct str text,
	const struct object_ref *ingress, struct arena *arena);
/* A redirect with these pieces. */
const struct redirect *nginx_redirect(
	const struct nginx_reader *r, uint64_t status, const struct pieces *pieces);
/* Scheme and host of the request: what a URL begins with. */
void nginx_pieces_add_origin(struct pieces *pieces, struct arena *arena, enum request_value host);

/* Changes of headers in the making. */
struct nginx_headers {
	struct header_change *items;
	size_t count;
};
/* The header becomes that; NULL: it is taken away. */
void nginx_headers_set(const struct nginx_reader *r, struct nginx_headers *headers,
	const char *name, const struct pieces *pieces);
/* It becomes one value of the request, or with REQUEST_TEXT the text. */
void nginx_headers_set_value(const struct nginx_reader *r, struct nginx_headers *headers,
	const char *name, enum request_value value, struct str text);

enum { NGINX_HEADERS_MAX = 64 };
/* An entry of a ConfigMap with headers. `self`: of the Ingress that nginx's variables in the value are about; NULL: they mean nothing. NULL, or what is wrong. */
const char *nginx_header_of(const struct config_entry *entry, const struct object_ref *self,
	struct arena *arena, struct header_change *ret_change);
/* Names, separated by commas and blanks. NULL, or what is wrong. */
const char *nginx_header_names(struct str text, struct arena *arena, struct str_list *ret_names);

/* Whether all paths are among those of the option: by itself those that prove to a certificate authority whose host it is, for nothing may stand in its way. */
bool nginx_is_exempt(const struct nginx_reader *r, enum nginx_own own);

/* NAME or NAMESPACE/NAME, but none of another namespace: whoever may write an Ingress must not use all Secrets. NULL, or what is wrong. */
const char *nginx_read_secret(
	const struct nginx_reader *r, enum nginx_row row, struct str *ret_name);

void nginx_read_paths(const struct nginx_reader *r);
void nginx_read_guards(const struct nginx_reader *r);
void nginx_read_external_auth(const struct nginx_reader *r);
void nginx_read_client_tls(const struct nginx_reader *r);
void nginx_read_handshake(const struct nginx_reader *r);
void nginx_read_mirror(const struct nginx_reader *r);
/* By what endpoints are chosen, of canaries, too. */
void nginx_read_balancing(const struct nginx_reader *r);
void nginx_read_answers(const struct nginx_reader *r);
void nginx_read_errors(const struct nginx_reader *r);
void nginx_read_headers(const struct nginx_reader *r);
/* Adds what the annotation auth-proxy-set-headers names. */
void nginx_add_auth_headers(const struct nginx_reader *r, struct nginx_headers *headers);
