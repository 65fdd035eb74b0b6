// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/params.h"

#include "common/ascii.h"
#include "common/must.h"

#include <stdarg.h>
#include <stdio.h>

enum { NAME_LEN_MAX = 160 };

/* What goes into a request has limits of its own, far below the buffer's. */
static void put(struct params *params, struct str text)
{
	must(buf_append_str(&params->body, text) == 0);
}

static bool is_unreserved(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '~';
}

void params_escape(struct buf *out, struct str value)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.p[i];
		char escaped[] = {'%', digits[c >> 4], digits[c & 15]};
		struct str piece = {escaped, sizeof(escaped)};
		if (is_unreserved(value.p[i]))
			piece = (struct str){value.p + i, 1};
		must(buf_append_str(out, piece) == 0);
	}
}

void params_begin(struct params *params, enum aws_service service, const char *action)
{
	buf_init(&params->body, PARAMS_LEN_MAX);
	put(params, STR("Action="));
	put(params, str_from(action));
	put(params, STR("&Version="));
	put(params, str_from(service_of(service)->version));
}

[[gnu::format(printf, 2, 0)]] static void put_name(
	struct params *params, const char *format, va_list args)
{
	char name[NAME_LEN_MAX];
	int len = vsnprintf(name, sizeof(name), format, args);
	must(len > 0 && len < NAME_LEN_MAX);
	put(params, STR("&"));
	put(params, (struct str){name, (size_t)len});
	put(params, STR("="));
}

void params_add(struct params *params, struct str value, const char *name, ...)
{
	va_list args;
	if (value.p == NULL)
		return;
	va_start(args, name);
	put_name(params, name, args);
	va_end(args);
	params_escape(&params->body, value);
}

void params_add_number(struct params *params, uint64_t value, const char *name, ...)
{
	va_list args;
	va_start(args, name);
	put_name(params, name, args);
	va_end(args);
	must(buf_append_uint(&params->body, value) == 0);
}

struct str params_end(struct params *params, struct arena *arena)
{
	struct str body = arena_str(arena, buf_str(&params->body));
	buf_fini(&params->body);
	return body;
}
