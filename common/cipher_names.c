// SPDX-License-Identifier: Apache-2.0
#include "common/cipher_names.h"

#include "common/ascii.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

static bool is_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		if (!ascii_is_upper(c) && !ascii_is_digit(c) && c != '-')
			return false;
	}
	/* A dash before a name would take it away. */
	return name.len != 0 && name.len <= CIPHER_NAME_LEN_MAX && name.p[0] != '-';
}

/* NULL: OpenSSL finds none. To be freed by SSL_CTX_free(). */
static SSL_CTX *choose(struct str text, struct arena *arena)
{
	const char *copy = arena_printf(arena, "%.*s", STR_FMT(text)).p;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	if (context != NULL && SSL_CTX_set_cipher_list(context, copy) != 1) {
		SSL_CTX_free(context);
		context = NULL;
	}
	ERR_clear_error();
	return context;
}

static bool can_be_had(const SSL_CIPHER *cipher)
{
	int auth = SSL_CIPHER_get_auth_nid(cipher);
	return SSL_CIPHER_get_protocol_id(cipher) >> 8 != 0x13 && auth != NID_auth_psk &&
	       auth != NID_auth_srp && SSL_CIPHER_get_kx_nid(cipher) != NID_kx_rsa_psk;
}

const char *cipher_names_of(struct str text, struct arena *arena, struct cipher_names *ret_names)
{
	struct cipher_names names = {0};
	size_t len = 0;
	*ret_names = names;
	if (text.len > CIPHER_TEXT_LEN_MAX)
		return "at most 4096 bytes are expected";
	SSL_CTX *context = choose(text, arena);
	const STACK_OF(SSL_CIPHER) *ciphers = context != NULL ? SSL_CTX_get_ciphers(context) : NULL;
	for (int i = 0; i < sk_SSL_CIPHER_num(ciphers) && names.count < CIPHER_NAMES_MAX; i++) {
		const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, i);
		struct str name = str_from(SSL_CIPHER_get_name(cipher));
		if (!can_be_had(cipher) || !is_name(name))
			continue;
		len += name.len + 1;
		if (len > CIPHER_JOINED_LEN_MAX)
			break;
		void *items = names.items;
		struct str *place = arena_push(arena, &items, &names.count, sizeof(*place));
		names.items = items;
		*place = arena_str(arena, name);
	}
	SSL_CTX_free(context);
	*ret_names = names;
	return names.count != 0 ? NULL : "no cipher of TLS 1.2 that OpenSSL knows is among them";
}

struct str cipher_names_join(const struct cipher_names *names, struct arena *arena)
{
	struct str text = STR("");
	for (size_t i = 0; i < names->count; i++)
		text = arena_printf(arena, "%.*s%s%.*s", STR_FMT(text), i != 0 ? ":" : "",
			STR_FMT(names->items[i]));
	return text;
}

/* Not only the name of a group of ciphers, either. */
static bool has_cipher(const STACK_OF(SSL_CIPHER) * ciphers, struct str name)
{
	for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
		if (str_eq_c(name, SSL_CIPHER_get_name(sk_SSL_CIPHER_value(ciphers, i))))
			return true;
	}
	return false;
}

bool cipher_names_are_good(const struct cipher_names *names)
{
	struct arena arena;
	bool are_names = names->count <= CIPHER_NAMES_MAX;
	for (size_t i = 0; i < names->count && are_names; i++)
		are_names = is_name(names->items[i]);
	if (!are_names || names->count == 0)
		return are_names;
	arena_init(&arena);
	struct str text = cipher_names_join(names, &arena);
	SSL_CTX *context = text.len <= CIPHER_JOINED_LEN_MAX ? choose(text, &arena) : NULL;
	arena_fini(&arena);
	for (size_t i = 0; i < names->count && context != NULL && are_names; i++)
		are_names = has_cipher(SSL_CTX_get_ciphers(context), names->items[i]);
	SSL_CTX_free(context);
	return context != NULL && are_names;
}
