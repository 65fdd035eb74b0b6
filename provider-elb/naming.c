// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/naming.h"

#include "common/ascii.h"
#include "common/must.h"
#include "provider-common/digest.h"

enum { NAME_PART_LEN_MAX = 8 };

/* What replaces a text that a tag cannot hold begins with this, and no text that does is left as it is. */
#define TAG_VALUE_HASHED "sha256:"

static const char *type_word(enum elb_type type)
{
	return type == ELB_APPLICATION ? "alb" : "nlb";
}

/* ---- names ---- */

/* Appends the beginning of `part` and a hyphen; nothing when no letter or digit is in it. */
static size_t put_part(char *text, size_t len, struct str part)
{
	size_t start = len;
	for (size_t i = 0; i < part.len && len - start < NAME_PART_LEN_MAX; i++) {
		if (ascii_is_alnum(part.p[i]))
			text[len++] = part.p[i];
		else if (len != start && text[len - 1] != '-')
			text[len++] = '-';
	}
	if (len != start && text[len - 1] != '-')
		text[len++] = '-';
	return len;
}

static struct str name_of(
	struct arena *arena, const struct load_balancer *lb, struct digest *digest)
{
	char *text = arena_alloc(arena, NAME_LEN_MAX + 1);
	size_t len = 3;
	memcpy(text, "sl-", len);
	len = put_part(text, len, lb->namespace);
	len = put_part(text, len, lb->name);
	struct str hash = digest_end_text(digest, DIGEST_NAME_LEN, arena);
	must(len + hash.len <= NAME_LEN_MAX);
	str_put(text + len, hash);
	return (struct str){text, len + hash.len};
}

struct str naming_balancer(struct arena *arena, struct str cluster, const struct load_balancer *lb,
	enum elb_type type, struct str scheme)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, STR("balancer"));
	digest_add_str(&digest, cluster);
	digest_add_str(&digest, lb->key.id);
	digest_add_str(&digest, str_from(type_word(type)));
	digest_add_str(&digest, scheme);
	return name_of(arena, lb, &digest);
}

struct str naming_group(struct arena *arena, struct str cluster, const struct load_balancer *lb,
	enum elb_type type, struct str scheme, struct str pool, const struct elb_group *group)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, STR("group"));
	digest_add_str(&digest, cluster);
	digest_add_str(&digest, lb->key.id);
	digest_add_str(&digest, str_from(type_word(type)));
	digest_add_str(&digest, scheme);
	digest_add_str(&digest, pool);
	digest_add_str(&digest, group->protocol);
	digest_add_str(&digest, group->version);
	digest_add_int(&digest, group->port);
	digest_add_int(&digest, group->is_ipv6);
	return name_of(arena, lb, &digest);
}

/* ---- values of tags ---- */

static bool is_tag_text(struct str text)
{
	if (text.len > TAG_VALUE_LEN_MAX || str_starts_with(text, STR(TAG_VALUE_HASHED)))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool is_mark = text.p[i] != '\0' && strchr("_.:/=+-@", text.p[i]) != NULL;
		bool is_space = text.p[i] == ' ' && i != 0 && i + 1 != text.len;
		if (!ascii_is_alnum(text.p[i]) && !is_mark && !is_space)
			return false;
	}
	return true;
}

struct str naming_tag_value(struct arena *arena, struct str text)
{
	struct digest digest;
	if (is_tag_text(text))
		return arena_str(arena, text);
	digest_begin(&digest);
	digest_add_str(&digest, text);
	struct str hash = digest_end_text(&digest, DIGEST_LEN_MAX, arena);
	return arena_printf(arena, TAG_VALUE_HASHED "%.*s", STR_FMT(hash));
}

struct str naming_balancer_identity(struct arena *arena, struct str lb, enum elb_type type)
{
	return naming_tag_value(
		arena, arena_printf(arena, "%.*s/%s", STR_FMT(lb), type_word(type)));
}

struct str naming_listener_identity(struct arena *arena, struct str lb, uint64_t port)
{
	return naming_tag_value(arena,
		arena_printf(arena, "%.*s/listener/%llu", STR_FMT(lb), (unsigned long long)port));
}

struct str naming_rule_identity(struct arena *arena, struct str lb, const struct virtual_host *host,
	const struct path_rule *rule)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_int(&digest, host->match);
	digest_add_str(&digest, host->match == HOST_ANY ? STR_NONE : host->host);
	if (rule != NULL) {
		digest_add_int(&digest, rule->match);
		digest_add_str(&digest, rule->path);
	}
	struct str hash = digest_end_text(&digest, DIGEST_APPLIED_LEN, arena);
	return naming_tag_value(
		arena, arena_printf(arena, "%.*s/rule/%.*s", STR_FMT(lb), STR_FMT(hash)));
}

struct str naming_group_identity(struct arena *arena, struct str lb, struct str pool)
{
	return naming_tag_value(
		arena, arena_printf(arena, "%.*s/pool/%.*s", STR_FMT(lb), STR_FMT(pool)));
}

struct str naming_security_group_identity(struct arena *arena, struct str lb, enum elb_type type)
{
	return naming_tag_value(
		arena, arena_printf(arena, "%.*s/security-group/%s", STR_FMT(lb), type_word(type)));
}

struct str naming_certificate_identity(struct arena *arena, struct str certificate)
{
	return naming_tag_value(
		arena, arena_printf(arena, "certificate/%.*s", STR_FMT(certificate)));
}
