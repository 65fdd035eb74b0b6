// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/terms.h"

#include "common/ascii.h"
#include "common/cipher_names.h"
#include "provider-nginx/pool_text.h"

/* Without a server name there is nothing to be checked, and it takes no location of its own not to send one. */
static bool are_usual(const struct pool_tls *tls)
{
	bool is_named = tls->verify == TLS_VERIFY_OFF || !tls->nameless;
	return is_named && tls->min_version == 0 && tls->max_version == 0 &&
	       tls->ciphers.count == 0 && (tls->max_depth == 0 || tls->verify == TLS_VERIFY_OFF);
}

static struct name base_of(const struct pool_tls *tls, const struct trust *trust)
{
	static const struct name system = {POOL_TEXT_SYSTEM};
	static const struct name off = {TERMS_OFF};
	return tls->verify == TLS_VERIFY_CA    ? trust->ca
	       : tls->verify == TLS_VERIFY_OFF ? off
					       : system;
}

struct name terms_name(const struct pool_tls *tls, const struct trust *trust, struct arena *arena,
	struct str *ret_text)
{
	struct name base = base_of(tls, trust);
	bool is_checked = tls->verify != TLS_VERIFY_OFF;
	*ret_text = STR("");
	if (are_usual(tls))
		return base;
	*ret_text = arena_printf(arena, "%s/%s/%u/%u/%u/%.*s", base.text,
		is_checked && tls->nameless ? "n" : "-", (unsigned)tls->min_version,
		(unsigned)tls->max_version, is_checked ? (unsigned)tls->max_depth : 0,
		STR_FMT(trust_ciphers(tls, arena)));
	return name_of(NAME_TERMS, *ret_text);
}

static bool read_number(struct str *rest, int64_t most, unsigned *ret_number)
{
	int64_t number = 0;
	if (!str_to_int(str_cut(rest, '/'), 0, most, &number))
		return false;
	*ret_number = (unsigned)number;
	return true;
}

static bool is_base(struct str text)
{
	return str_eq_c(text, POOL_TEXT_SYSTEM) || str_eq_c(text, TERMS_OFF) ||
	       name_is_one(NAME_AUTHORITY, text);
}

static bool is_version(unsigned version)
{
	return version == 0 || version == 12 || version == 13;
}

/* The form alone: they were good when they were written. */
static bool are_ciphers(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (!ascii_is_upper(c) && !ascii_is_digit(c) && c != '-' && c != ':')
			return false;
	}
	return text.len <= CIPHER_JOINED_LEN_MAX;
}

bool terms_read(struct str text, struct terms *ret_terms)
{
	struct terms terms = {0};
	struct str base = str_cut(&text, '/');
	if (!is_base(base))
		return false;
	str_put(terms.base.text, base);
	struct str nameless = str_cut(&text, '/');
	terms.nameless = str_eq_c(nameless, "n");
	if ((!terms.nameless && !str_eq_c(nameless, "-")) ||
		!read_number(&text, 13, &terms.min_version) ||
		!read_number(&text, 13, &terms.max_version) ||
		!read_number(&text, POOL_DEPTH_MAX, &terms.max_depth))
		return false;
	terms.ciphers = text;
	*ret_terms = terms;
	return is_version(terms.min_version) && is_version(terms.max_version) && are_ciphers(text);
}
