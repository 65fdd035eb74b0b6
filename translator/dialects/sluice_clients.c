// SPDX-License-Identifier: Apache-2.0
/* The sluice dialect: which certificates of clients the hosts of an Ingress want, and how connections for them are secured. */
#include "translator/dialects/sluice_reader.h"
#include "translator/dialects/values.h"
#include "translator/regexes.h"

enum { DEPTH_MAX = 15, SUBJECT_LEN_MAX = 1024 };

/* False: it is wrong, and its owner was told. */
static bool read_verify(const struct sluice_reader *r, struct client_wish *wish)
{
	const struct str *value = sluice_value(r, SLUICE_client_tls_verify);
	static const char *const words[] = {
		[CLIENT_VERIFY_REQUIRED] = "required",
		[CLIENT_VERIFY_OPTIONAL] = "optional",
		[CLIENT_VERIFY_ASKED] = "asked",
	};
	for (size_t i = 0; value != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
		if (!str_eq_c(*value, words[i]))
			continue;
		wish->verify = (enum client_verify)i;
		return true;
	}
	return value == NULL || sluice_accept(r, SLUICE_client_tls_verify,
					"\"required\", \"optional\" or \"asked\" is expected");
}

static bool read_subject(const struct sluice_reader *r, struct client_wish *wish)
{
	const struct str *value = sluice_value(r, SLUICE_client_tls_subject);
	if (value == NULL)
		return true;
	if (!sluice_text(r, SLUICE_client_tls_subject, SUBJECT_LEN_MAX, &wish->subject))
		return false;
	return sluice_accept(r, SLUICE_client_tls_subject, regex_check(*value, r->d->arena));
}

static void read_location(const struct sluice_reader *r, struct client_wish *wish)
{
	const struct str *value = sluice_value(r, SLUICE_client_tls_redirect);
	struct pieces pieces = {0};
	if (value == NULL || !sluice_pieces(r, SLUICE_client_tls_redirect, *value, &pieces))
		return;
	wish->error_location.items = pieces.list.items;
	wish->error_location.count = pieces.list.count;
}

static void tell_alone(const struct sluice_reader *r)
{
	static const enum sluice_row rows[] = {SLUICE_client_tls_depth, SLUICE_client_tls_pass,
		SLUICE_client_tls_redirect, SLUICE_client_tls_subject, SLUICE_client_tls_verify};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		sluice_tell_alone(r, rows[i], "client-tls.secret");
}

/* False: it is wrong, and its owner was told. */
static bool read_order(const struct sluice_reader *r, struct host_handshake *wish)
{
	const struct str *value = sluice_value(r, SLUICE_tls_cipher_order);
	if (value == NULL)
		return true;
	if (str_eq_c(*value, "server"))
		wish->order = CIPHER_ORDER_SERVER;
	else if (str_eq_c(*value, "client"))
		wish->order = CIPHER_ORDER_CLIENT;
	return sluice_accept(r, SLUICE_tls_cipher_order,
		wish->order != CIPHER_ORDER_OWN ? NULL : "\"server\" or \"client\" is expected");
}

static bool read_ciphers(const struct sluice_reader *r, struct host_handshake *wish)
{
	const struct str *value = sluice_value(r, SLUICE_tls_ciphers);
	return value == NULL || sluice_accept(r, SLUICE_tls_ciphers,
					value_ciphers(*value, r->d->arena, &wish->ciphers));
}

static void read_handshake(const struct sluice_reader *r)
{
	const enum sluice_row row = sluice_value(r, SLUICE_tls_ciphers) != NULL
					    ? SLUICE_tls_ciphers
					    : SLUICE_tls_cipher_order;
	struct host_handshake wish = {0};
	if (sluice_value(r, row) == NULL || !read_order(r, &wish) || !read_ciphers(r, &wish))
		return;
	struct host_handshake *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = wish;
	r->d->route->handshake = copy;
	sluice_ask(r, row);
}

void sluice_read_clients(const struct sluice_reader *r)
{
	const struct str *secret = sluice_value(r, SLUICE_client_tls_secret);
	struct client_wish wish = {.verify = CLIENT_VERIFY_REQUIRED};
	read_handshake(r);
	if (secret == NULL) {
		tell_alone(r);
		return;
	}
	if (!sluice_accept(r, SLUICE_client_tls_secret, value_secret_name(*secret)) ||
		!read_verify(r, &wish) || !read_subject(r, &wish))
		return;
	wish.secret = *secret;
	(void)sluice_count(r, SLUICE_client_tls_depth, 0, DEPTH_MAX, &wish.depth);
	wish.depth++; /* the client's own counts, too */
	wish.is_passed = sluice_switch(r, SLUICE_client_tls_pass);
	read_location(r, &wish);
	struct client_wish *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = wish;
	r->d->route->client = copy;
	sluice_ask(r, SLUICE_client_tls_secret);
}
