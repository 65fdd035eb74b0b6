// SPDX-License-Identifier: Apache-2.0
#include "watcher/named_refs.h"

#include "proto/frame.h"
#include "proto/message.h"

/* What the names of these annotations have in common, so that other Ingresses need not be read. */
static const char mark[] = "auth";
static const char *const annotations[NAMED_REFS_MAX] = {
	"sluice.io/basic-auth.secret", "nginx.ingress.kubernetes.io/auth-secret"};

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

size_t named_refs_of(const struct store_object *ingress, struct arena *arena,
	struct str ret_names[static NAMED_REFS_MAX])
{
	struct ingress_record record;
	size_t count = 0;
	if (ingress->frame == NULL ||
		memmem(ingress->frame, ingress->frame_len, mark, sizeof(mark) - 1) == NULL)
		return 0;
	message_read_kept(message_schema(MESSAGE_UPSERT, RECORD_INGRESS, LB_NONE),
		(struct str){ingress->frame + FRAME_HEAD_LEN, ingress->frame_len - FRAME_HEAD_LEN},
		arena, &record);
	for (size_t i = 0; i < record.annotations.count; i++) {
		const struct annotation *a = &record.annotations.items[i];
		for (size_t k = 0; k < NAMED_REFS_MAX && count < NAMED_REFS_MAX; k++)
			count += str_eq_c(a->key, annotations[k]) &&
				 take_name(a->value, store_namespace(ingress), &ret_names[count]);
	}
	if (count == 2 && str_eq(ret_names[0], ret_names[1]))
		count = 1;
	return count;
}
