// SPDX-License-Identifier: Apache-2.0
/* Lines as the proxies write them, or somebody in their place: no line makes a line of the counts that is none, and what is logged is part of what came. */
#include "provider-supervisor/traffic_counts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct traffic_counts *counts, struct str text)
{
	while (text.len != 0) {
		const char *end = str_find(text, '\n');
		size_t len = end != NULL ? (size_t)(end - text.p) + 1 : text.len;
		struct str left =
			traffic_counts_take(counts, (struct str){text.p, len}, len % 7 != 0);
		if (left.len > len || (left.len != 0 && left.p + left.len != text.p + len))
			abort();
		text = str_skip(text, len);
	}
}

static void tell(struct traffic_counts *counts)
{
	struct buf out;
	buf_init(&out, 4096);
	for (size_t i = 0; i < traffic_counts_number(counts); i++) {
		buf_clear(&out);
		if (traffic_counts_print(counts, i, &out) != 0)
			abort();
		struct str line = buf_str(&out);
		for (size_t at = 0; at < line.len; at++) {
			char c = line.p[at];
			bool is_end = c == '\n' && at + 1 == line.len;
			if (!is_end && (c < ' ' || c > '~'))
				abort();
		}
	}
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct traffic_counts *counts = traffic_counts_new();
	take(counts, (struct str){(const char *)data, size});
	tell(counts);
	traffic_counts_free(counts);
	return 0;
}
