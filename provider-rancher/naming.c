// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/naming.h"

#include "common/ascii.h"
#include "common/must.h"
#include "provider-common/digest.h"

#include <stdio.h>

/* Appended to the separator, so that an Ingress, a group and a Service of the same name differ. */
static const struct {
	const char *word;
	const char *suffix;
} kinds[IDENTITY_KIND_COUNT] = {
	[IDENTITY_INGRESS] = {"ingress", ""},
	[IDENTITY_GROUP] = {"group", "group"},
	[IDENTITY_SERVICE] = {"service", "service"},
};

const char *naming_kind_word(enum identity_kind kind)
{
	return kinds[kind].word;
}

bool naming_is_valid(struct str name)
{
	if (name.len == 0 || name.len > NAMING_LEN_MAX || name.p[0] == '-' ||
		name.p[name.len - 1] == '-')
		return false;
	for (size_t i = 0; i < name.len; i++) {
		bool is_double = name.p[i] == '-' && i != 0 && name.p[i - 1] == '-';
		if ((!ascii_is_alnum(name.p[i]) && name.p[i] != '-') || is_double)
			return false;
	}
	return true;
}

/* Room for the longest namespace, separator and name. */
struct raw_name {
	char text[1024];
};

static struct str compose(
	const struct identity *identity, const char *separator, struct raw_name *raw)
{
	int len = snprintf(raw->text, sizeof(raw->text), "%.*s-%s%s-%.*s",
		STR_FMT(identity->namespace), separator, kinds[identity->kind].suffix,
		STR_FMT(identity->name));
	must(len >= 0 && (size_t)len < sizeof(raw->text));
	return (struct str){raw->text, (size_t)len};
}

static void set_name(struct lb_name *ret_name, struct str text)
{
	must(text.len <= NAMING_LEN_MAX);
	str_put(ret_name->text, text);
	ret_name->text[text.len] = '\0';
}

/* A valid prefix made from `text`, then "-" and eight digits of the hash. */
static void set_hashed(struct lb_name *ret_name, struct str text, uint64_t hash)
{
	char digits[DIGEST_TEXT_LEN + 1];
	size_t len = 0;
	for (size_t i = 0; i < text.len && len < NAMING_LEN_MAX - NAMING_HASH_LEN - 1; i++) {
		char c = ascii_is_alnum(text.p[i]) ? text.p[i] : '-';
		if (c == '-' && (len == 0 || ret_name->text[len - 1] == '-'))
			continue;
		ret_name->text[len++] = c;
	}
	if (len != 0 && ret_name->text[len - 1] != '-')
		ret_name->text[len++] = '-';
	digest_text(hash, digits);
	memcpy(ret_name->text + len, digits, NAMING_HASH_LEN);
	ret_name->text[len + NAMING_HASH_LEN] = '\0';
}

static uint64_t hash_of(struct str kind, struct str namespace, struct str name)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, kind);
	digest_add_str(&digest, namespace);
	digest_add_str(&digest, name);
	return digest_end(&digest);
}

void naming_hashed(const struct identity *identity, const char *separator, struct lb_name *ret_name)
{
	struct raw_name raw = {""};
	set_hashed(ret_name, compose(identity, separator, &raw),
		hash_of(str_from(kinds[identity->kind].word), identity->namespace, identity->name));
}

void naming_primary(
	const struct identity *identity, const char *separator, struct lb_name *ret_name)
{
	struct raw_name raw = {""};
	struct str text = compose(identity, separator, &raw);
	if (naming_is_valid(text))
		set_name(ret_name, text);
	else
		naming_hashed(identity, separator, ret_name);
}

bool naming_legacy(const struct identity *identity, struct lb_name *ret_name)
{
	struct raw_name raw = {""};
	int len = snprintf(raw.text, sizeof(raw.text), "%.*s-%.*s", STR_FMT(identity->namespace),
		STR_FMT(identity->name));
	must(len >= 0 && (size_t)len < sizeof(raw.text));
	struct str text = {raw.text, (size_t)len};
	if (identity->kind != IDENTITY_INGRESS || !naming_is_valid(text))
		return false;
	set_name(ret_name, text);
	return true;
}

static size_t split(struct str name, struct str between, struct identity *ret_identities)
{
	size_t count = 0;
	for (size_t at = 1; at + between.len < name.len && count < NAMING_SPLITS_MAX; at++) {
		if (!str_starts_with(str_skip(name, at), between))
			continue;
		ret_identities[count++] = (struct identity){
			.namespace = {name.p, at},
			.name = str_skip(name, at + between.len),
		};
	}
	return count;
}

size_t naming_split(
	struct str name, const char *separator, struct identity ret_identities[NAMING_SPLITS_MAX])
{
	char between[NAMING_LEN_MAX + 3];
	int len = snprintf(between, sizeof(between), "-%s-", separator);
	if (len < 0 || (size_t)len >= sizeof(between))
		return 0;
	return split(name, (struct str){between, (size_t)len}, ret_identities);
}

size_t naming_split_legacy(struct str name, struct identity ret_identities[NAMING_SPLITS_MAX])
{
	return split(name, STR("-"), ret_identities);
}

struct str naming_text(const struct identity *identity, struct arena *arena)
{
	return arena_printf(arena, "%s %.*s/%.*s", kinds[identity->kind].word,
		STR_FMT(identity->namespace), STR_FMT(identity->name));
}

bool naming_parse_text(struct str text, struct identity *ret_identity)
{
	struct identity identity = {.kind = IDENTITY_INGRESS};
	const char *space = str_find(text, ' ');
	struct str word = {text.p, space != NULL ? (size_t)(space - text.p) : 0};
	while (identity.kind < IDENTITY_KIND_COUNT && !str_eq_c(word, kinds[identity.kind].word))
		identity.kind++;
	if (space == NULL || identity.kind == IDENTITY_KIND_COUNT)
		return false;
	struct str rest = str_skip(text, word.len + 1);
	const char *slash = str_find(rest, '/');
	if (slash == NULL)
		return false;
	identity.namespace = (struct str){rest.p, (size_t)(slash - rest.p)};
	identity.name = str_skip(rest, identity.namespace.len + 1);
	*ret_identity = identity;
	return true;
}

void naming_certificate_hashed(
	struct str stack, struct str namespace, struct str secret, struct lb_name *ret_name)
{
	struct raw_name raw = {""};
	int len = snprintf(
		raw.text, sizeof(raw.text), "%.*s-%.*s", STR_FMT(namespace), STR_FMT(secret));
	must(len >= 0 && (size_t)len < sizeof(raw.text));
	set_hashed(
		ret_name, (struct str){raw.text, (size_t)len}, hash_of(stack, namespace, secret));
}

void naming_certificate(struct str namespace, struct str secret, struct lb_name *ret_name)
{
	struct raw_name raw = {""};
	int len = snprintf(
		raw.text, sizeof(raw.text), "%.*s-%.*s", STR_FMT(namespace), STR_FMT(secret));
	must(len >= 0 && (size_t)len < sizeof(raw.text));
	/* Only if the namespace has no dash does the first dash end it; otherwise "a-b-c" would be
	 * ambiguous. */
	bool is_clear = namespace.len != 0 && str_find(namespace, '-') == NULL;
	struct str text = {raw.text, (size_t)len};
	if (is_clear && naming_is_valid(text))
		set_name(ret_name, text);
	else
		set_hashed(ret_name, text, hash_of(STR("secret"), namespace, secret));
}
