// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/trust.h"

#include "common/cert.h"
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

static struct name name_whole(const struct pool_tls *tls, const struct trust *trust)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "%d %d %s %s %.*s", tls->http2, (int)tls->verify,
		trust->ca.text, trust->client.text, STR_FMT(tls->server_name));
	return name_of(NAME_TRUST, (struct str){text, (size_t)len});
}

const char *trust_of(const struct pool_tls *tls, struct trust *ret_trust)
{
	struct trust trust = {0};
	bool has_name = !str_is_empty(tls->server_name);
	if (has_name && !check_host(tls->server_name))
		return "the server name of the backend is no host name";
	if (!has_name && tls->verify != TLS_VERIFY_OFF)
		return "it is not said for which name the backend's certificate has to be";
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
