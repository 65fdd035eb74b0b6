// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/mark.h"

#include "provider-common/digest.h"

#define OPENING "managed by sluice: "

struct str mark_of_lb(const struct lb_mark *mark, struct arena *arena)
{
	return arena_printf(arena, OPENING "%s=%.*s/%.*s%s", naming_kind_word(mark->identity.kind),
		STR_FMT(mark->identity.namespace), STR_FMT(mark->identity.name),
		mark->has_scale ? " scale" : "");
}

struct str mark_of_certificate(const struct certificate_mark *mark, struct arena *arena)
{
	char digest[DIGEST_TEXT_LEN + 1];
	digest_text(mark->digest, digest);
	return arena_printf(arena, OPENING "stack=%.*s secret=%.*s/%.*s digest=%s",
		STR_FMT(mark->stack), STR_FMT(mark->namespace), STR_FMT(mark->secret), digest);
}

/* Cuts the next word off *rest; absent at the end. */
static struct str next_word(struct str *rest)
{
	while (rest->len != 0 && rest->p[0] == ' ')
		*rest = str_skip(*rest, 1);
	size_t len = 0;
	while (len < rest->len && rest->p[len] != ' ')
		len++;
	struct str word = {rest->p, len};
	*rest = str_skip(*rest, len);
	return len != 0 ? word : STR_NONE;
}

static bool read_value(struct str word, struct str name, struct str *ret_value)
{
	if (!str_starts_with(word, name))
		return false;
	*ret_value = str_skip(word, name.len);
	return true;
}

static bool read_path(struct str value, struct str *ret_namespace, struct str *ret_name)
{
	const char *slash = str_find(value, '/');
	if (slash == NULL)
		return false;
	*ret_namespace = (struct str){value.p, (size_t)(slash - value.p)};
	*ret_name = str_skip(value, ret_namespace->len + 1);
	return ret_namespace->len != 0 && ret_name->len != 0;
}

bool mark_read_lb(struct str description, struct lb_mark *ret_mark)
{
	struct lb_mark mark = {.has_scale = false};
	struct str value;
	if (!str_starts_with(description, STR(OPENING)))
		return false;
	struct str rest = str_skip(description, sizeof(OPENING) - 1);
	struct str word = next_word(&rest);
	if (read_value(word, STR("group="), &value))
		mark.identity.kind = IDENTITY_GROUP;
	else if (read_value(word, STR("service="), &value))
		mark.identity.kind = IDENTITY_SERVICE;
	else if (!read_value(word, STR("ingress="), &value))
		return false;
	if (!read_path(value, &mark.identity.namespace, &mark.identity.name))
		return false;
	/* Unknown words, which a later release may add, are skipped. */
	while ((word = next_word(&rest)).len != 0)
		mark.has_scale = mark.has_scale || str_eq_c(word, "scale");
	*ret_mark = mark;
	return true;
}

bool mark_read_certificate(struct str description, struct certificate_mark *ret_mark)
{
	struct certificate_mark mark = {.stack = STR_NONE};
	struct str value;
	struct str digest = STR_NONE;
	if (!str_starts_with(description, STR(OPENING)))
		return false;
	struct str rest = str_skip(description, sizeof(OPENING) - 1);
	struct str word;
	while ((word = next_word(&rest)).len != 0) {
		if (read_value(word, STR("secret="), &value) &&
			!read_path(value, &mark.namespace, &mark.secret))
			return false;
		if (read_value(word, STR("stack="), &value))
			mark.stack = value;
		if (read_value(word, STR("digest="), &value))
			digest = value;
	}
	if (mark.stack.len == 0 || mark.secret.len == 0)
		return false;
	/* A digest that somebody has removed counts as a difference. */
	if (!digest_parse(digest, &mark.digest))
		mark.digest = 0;
	*ret_mark = mark;
	return true;
}
