// SPDX-License-Identifier: Apache-2.0
#include "proto/schema_walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t print_place(const struct schema_place *place, char *text, size_t room)
{
	if (place == NULL)
		return 0;
	size_t used = print_place(place->outer, text, room);
	if (used + 1 >= room || place->key == NULL)
		return used;
	int len = snprintf(text + used, room - used, "%s%s", used != 0 ? "." : "", place->key);
	used += (size_t)len < room - used ? (size_t)len : room - used - 1;
	if (place->index != 0 && used + 1 < room) {
		len = snprintf(text + used, room - used, "[%zu]", place->index - 1);
		used += (size_t)len < room - used ? (size_t)len : room - used - 1;
	}
	return used;
}

void schema_fail_at(
	struct schema_error *error, const struct schema_place *place, const char *format, ...)
{
	size_t used = print_place(place, error->text, sizeof(error->text));
	if (used + 2 < sizeof(error->text)) {
		memcpy(error->text + used, ": ", 2);
		used += 2;
	}
	va_list args;
	va_start(args, format);
	vsnprintf(error->text + used, sizeof(error->text) - used, format, args);
	va_end(args);
}
