// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/labels.h"

static const struct {
	const char *key;
	bool is_prefix;
} safe_labels[] = {
#define SAFE_LABEL(key, is_prefix) {key, is_prefix},
#include "provider-rancher/labels.def"
#undef SAFE_LABEL
};

#define SCHEDULER "io.rancher.scheduler."

bool label_is_safe(struct str key)
{
	for (size_t i = 0; i < sizeof(safe_labels) / sizeof(safe_labels[0]); i++) {
		struct str safe = str_from(safe_labels[i].key);
		if (safe_labels[i].is_prefix ? str_starts_with(key, safe) && key.len > safe.len
					     : str_eq(key, safe))
			return true;
	}
	return false;
}

bool label_value_is_good(struct str value)
{
	if (value.len > LABEL_VALUE_LEN_MAX)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	}
	return true;
}

struct str label_key(struct str key, struct arena *arena)
{
	if (!str_starts_with(key, STR(SCHEDULER)) || str_find(key, ':') != NULL)
		return key;
	struct str rest = str_skip(key, sizeof(SCHEDULER) - 1);
	const char *dot = str_find(rest, '.');
	if (dot == NULL)
		return key;
	size_t before = (size_t)(dot - key.p);
	return arena_printf(
		arena, "%.*s:%.*s", (int)before, key.p, STR_FMT(str_skip(key, before + 1)));
}

bool label_is_global(struct str key, struct str value)
{
	return str_eq_c(key, SCHEDULER "global") && str_eq_c(value, "true");
}
