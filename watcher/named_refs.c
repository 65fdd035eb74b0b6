// SPDX-License-Identifier: Apache-2.0
#include "watcher/named_refs.h"

#include "proto/frame.h"
#include "proto/message.h"

/* What the names of these annotations have in common, so that other Ingresses need not be read. */
static const char *const marks[] = {"auth", "client-tls"};
static const char *const own_keys[] = {
	"sluice.io/basic-auth.secret", "sluice.io/client-tls.secret"};
static const char *const nginx_keys[] = {"auth-secret", "auth-tls-secret"};
static const char nginx_usual_prefix[] = "nginx.ingress.kubernetes.io";

static bool has_mark(const struct store_object *ingress)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (memmem(ingress->frame, ingress->frame_len, marks[i], strlen(marks[i])) != NULL)
			return true;
	}
	return false;
}

/* Whether the value of the annotation names a Secret. */
static bool is_naming(struct str key, const char *nginx_prefix)
{
	struct str prefix = str_from(nginx_prefix != NULL ? nginx_prefix : nginx_usual_prefix);
	for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++) {
		if (str_eq_c(key, own_keys[i]))
			return true;
	}
	if (!str_starts_with(key, prefix) || key.len <= prefix.len || key.p[prefix.len] != '/')
		return false;
	for (size_t i = 0; i < sizeof(nginx_keys) / sizeof(nginx_keys[0]); i++) {
		if (str_eq_c(str_skip(key, prefix.len + 1), nginx_keys[i]))
			return true;
	}
	return false;
}

/* A name goes into a query, so it has to be one. */
static bool is_name(struct str name)
{
	bool good = name.len != 0 && name.len <= 253;
	for (size_t i = 0; i < name.len && good; i++) {
		char c = name.p[i];
		good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
	}
	return good;
}

/* NAME, or NAMESPACE/NAME with its own namespace. */
static bool take_name(struct str value, struct str namespace, struct str *ret_name)
{
	const char *slash = str_find(value, '/');
	size_t len = slash != NULL ? (size_t)(slash - value.p) : 0;
	if (slash != NULL && !str_eq((struct str){value.p, len}, namespace))
		return false;
	*ret_name = slash != NULL ? str_skip(value, len + 1) : value;
	return is_name(*ret_name);
}

static bool is_among(struct str name, const struct str *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(names[i], name))
			return true;
	}
	return false;
}

size_t named_refs_of(const struct store_object *ingress, const char *nginx_prefix,
	struct arena *arena, struct str ret_names[static NAMED_REFS_MAX])
{
	struct ingress_record record;
	size_t count = 0;
	if (ingress->frame == NULL || !has_mark(ingress))
		return 0;
	message_read_kept(message_schema(MESSAGE_UPSERT, RECORD_INGRESS, LB_NONE),
		(struct str){ingress->frame + FRAME_HEAD_LEN, ingress->frame_len - FRAME_HEAD_LEN},
		arena, &record);
	for (size_t i = 0; i < record.annotations.count && count < NAMED_REFS_MAX; i++) {
		const struct annotation *a = &record.annotations.items[i];
		struct str name;
		if (is_naming(a->key, nginx_prefix) &&
			take_name(a->value, store_namespace(ingress), &name) &&
			!is_among(name, ret_names, count))
			ret_names[count++] = name;
	}
	return count;
}
