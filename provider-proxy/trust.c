// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/trust.h"

#include "common/cert.h"
#include "common/cipher_names.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/pem.h"

#include <stdio.h>

int trust_ca_content(const struct pool_tls *tls, struct buf *out)
{
	return pem_blocks(tls->ca, out);
}

int trust_client_content(const struct pool_tls *tls, struct buf *out)
{
	int err = pem_blocks(tls->client_chain, out);
	return err != 0 ? err : pem_blocks(tls->client_key, out);
}

static bool name_content(char letter, const struct pool_tls *tls,
	int content(const struct pool_tls *tls, struct buf *out), struct name *ret_name)
{
	struct buf text;
	buf_init(&text, TRUST_CONTENT_LEN_MAX);
	int err = content(tls, &text);
	if (err == 0)
		*ret_name = name_of(letter, buf_str(&text));
	buf_wipe_fini(&text);
	return err == 0;
}

/* A CA that a proxy cannot load would keep it from starting. */
static bool is_good_ca(const struct pool_tls *tls)
{
	struct arena arena;
	struct str pem;
	arena_init(&arena);
	bool is_good = cert_authorities(tls->ca, &arena, &pem) == NULL;
	arena_fini(&arena);
	return is_good;
}

static bool is_good_client(const struct pool_tls *tls)
{
	struct arena arena;
	struct cert_info info;
	arena_init(&arena);
	bool is_good = cert_check(tls->client_chain, tls->client_key, &arena, &info) == NULL;
	arena_fini(&arena);
	return is_good;
}

static bool are_good_versions(const struct pool_tls *tls)
{
	bool are_known =
		(tls->min_version == 0 || tls->min_version == 12 || tls->min_version == 13) &&
		(tls->max_version == 0 || tls->max_version == 12 || tls->max_version == 13);
	return are_known && (tls->max_version == 0 || tls->min_version <= tls->max_version);
}

static struct cipher_names ciphers_of(const struct pool_tls *tls)
{
	return (struct cipher_names){tls->ciphers.items, tls->ciphers.count};
}

struct str trust_ciphers(const struct pool_tls *tls, struct arena *arena)
{
	struct cipher_names names = ciphers_of(tls);
	return cipher_names_join(&names, arena);
}

bool trust_has_terms(const struct pool_tls *tls)
{
	return tls->nameless || tls->min_version != 0 || tls->max_version != 0 ||
	       tls->ciphers.count != 0 || tls->max_depth != 0;
}

/* Of pools without terms as it has always been: their connections go on. */
static struct name name_whole(const struct pool_tls *tls, const struct trust *trust)
{
	struct arena arena;
	arena_init(&arena);
	struct str text = arena_printf(&arena, "%d %d %s %s %.*s", tls->http2, (int)tls->verify,
		trust->ca.text, trust->client.text, STR_FMT(tls->server_name));
	if (trust_has_terms(tls))
		text = arena_printf(&arena, "%.*s %d %llu %llu %llu %.*s", STR_FMT(text),
			tls->nameless, (unsigned long long)tls->min_version,
			(unsigned long long)tls->max_version, (unsigned long long)tls->max_depth,
			STR_FMT(trust_ciphers(tls, &arena)));
	struct name name = name_of(NAME_TRUST, text);
	arena_fini(&arena);
	return name;
}

const char *trust_of(const struct pool_tls *tls, struct trust *ret_trust)
{
	struct trust trust = {0};
	bool has_name = !str_is_empty(tls->server_name);
	struct cipher_names ciphers = ciphers_of(tls);
	if (has_name && !check_server_name(tls->server_name))
		return "the server name of the backend is no host name";
	if (!has_name && tls->verify != TLS_VERIFY_OFF)
		return "it is not said for which name the backend's certificate has to be";
	if (!are_good_versions(tls))
		return "the versions of TLS for the backend cannot be used";
	if (!cipher_names_are_good(&ciphers))
		return "the ciphers for the backend cannot be used";
	if (tls->verify == TLS_VERIFY_CA &&
		(!is_good_ca(tls) ||
			!name_content(NAME_AUTHORITY, tls, trust_ca_content, &trust.ca)))
		return "the CA of the backend cannot be used";
	if (tls->client_key.len != 0 &&
		(!is_good_client(tls) ||
			!name_content(NAME_CLIENT, tls, trust_client_content, &trust.client)))
		return "the client certificate for the backend cannot be used";
	trust.whole = name_whole(tls, &trust);
	*ret_trust = trust;
	return NULL;
}

bool trust_read_file_name(struct str file, struct name *ret_name)
{
	if (file.len != NAME_LEN + 4 || !str_ends_with(file, STR(".pem")))
		return false;
	*ret_name = (struct name){0};
	memcpy(ret_name->text, file.p, NAME_LEN);
	return true;
}
