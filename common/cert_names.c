// SPDX-License-Identifier: Apache-2.0
#include "common/cert_names.h"

#include "common/ascii.h"
#include "common/cert.h"

#include <openssl/x509v3.h>
#include <stdlib.h>

enum { HOST_LEN_MAX = 253, LABEL_LEN_MAX = 63 };

struct names {
	struct arena *arena;
	struct str *items;
	size_t count;
};

static bool is_label_char(char c)
{
	return ascii_is_alnum(c) || c == '-';
}

/* RFC 1123 labels; the first may be "*" if others follow. NUL and other characters that have fooled clients are not label
 * characters. */
static bool is_host_name(struct str name)
{
	if (name.len == 0 || name.len > HOST_LEN_MAX)
		return false;
	if (str_starts_with(name, STR("*.")))
		name = str_skip(name, 2);
	for (;;) {
		struct str label = str_before(name, '.');
		if (label.len == 0 || label.len > LABEL_LEN_MAX || label.p[0] == '-' ||
			label.p[label.len - 1] == '-')
			return false;
		for (size_t i = 0; i < label.len; i++) {
			if (!is_label_char(label.p[i]))
				return false;
		}
		if (label.len == name.len)
			return true;
		name = str_skip(name, label.len + 1);
	}
}

/* False if there are too many. */
static bool add(struct names *names, const ASN1_STRING *string)
{
	struct str name = {
		(const char *)ASN1_STRING_get0_data(string), (size_t)ASN1_STRING_length(string)};
	if (!is_host_name(name))
		return true;
	if (names->count == CERT_NAMES_MAX)
		return false;
	char *copy = arena_alloc(names->arena, name.len + 1);
	for (size_t i = 0; i < name.len; i++)
		copy[i] = ascii_to_lower(name.p[i]);
	struct str *place = arena_push(
		names->arena, (void **)&names->items, &names->count, sizeof(*names->items));
	*place = (struct str){copy, name.len};
	return true;
}

static bool add_common_names(struct names *names, const X509 *leaf)
{
	const X509_NAME *subject = X509_get_subject_name(leaf);
	bool room = true;
	int at = -1;
	while (room && (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
		room = add(names, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
	return room;
}

static int compare(const void *a, const void *b)
{
	const struct str *left = a;
	const struct str *right = b;
	return str_cmp(*left, *right);
}

static void sort_out_duplicates(struct names *names)
{
	size_t kept = 0;
	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), compare);
	for (size_t i = 0; i < names->count; i++) {
		if (kept == 0 || !str_eq(names->items[kept - 1], names->items[i]))
			names->items[kept++] = names->items[i];
	}
	names->count = kept;
}

const char *cert_names_read(
	const X509 *leaf, struct arena *arena, struct str **ret_names, size_t *ret_count)
{
	struct names names = {.arena = arena};
	int critical = 0;
	bool room = true;
	bool has_dns = false;
	GENERAL_NAMES *alternatives = X509_get_ext_d2i(leaf, NID_subject_alt_name, &critical, NULL);
	if (alternatives == NULL && critical != -1)
		return "tls.crt has a subjectAltName that cannot be read";
	for (int i = 0; room && i < sk_GENERAL_NAME_num(alternatives); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(alternatives, i);
		if (name->type != GEN_DNS)
			continue;
		has_dns = true;
		room = add(&names, name->d.dNSName);
	}
	GENERAL_NAMES_free(alternatives);
	/* RFC 6125, section 6.4.4: the common name counts only if there is no DNS name. */
	if (room && !has_dns)
		room = add_common_names(&names, leaf);
	if (!room)
		return "tls.crt names too many hosts";
	sort_out_duplicates(&names);
	*ret_names = names.items;
	*ret_count = names.count;
	return NULL;
}

/* In the order of the list; `left` may have any case. */
static int compare_host(const void *left, const void *right)
{
	struct str host = *(const struct str *)left;
	struct str name = *(const struct str *)right;
	size_t len = host.len < name.len ? host.len : name.len;
	for (size_t i = 0; i < len; i++) {
		int order = (unsigned char)ascii_to_lower(host.p[i]) - (unsigned char)name.p[i];
		if (order != 0)
			return order;
	}
	return (host.len > len) - (name.len > len);
}

static bool is_listed(const struct str *names, size_t count, struct str host)
{
	return count != 0 && bsearch(&host, names, count, sizeof(*names), compare_host) != NULL;
}

bool cert_covers(const struct str *names, size_t count, struct str host)
{
	char wildcard[HOST_LEN_MAX];
	struct str label = str_before(host, '.');
	struct str rest = str_skip(host, label.len);
	if (host.len == 0 || host.len > HOST_LEN_MAX)
		return false;
	if (is_listed(names, count, host))
		return true;
	if (label.len == 0 || rest.len <= 1)
		return false;
	wildcard[0] = '*';
	memcpy(wildcard + 1, rest.p, rest.len);
	return is_listed(names, count, (struct str){wildcard, rest.len + 1});
}
