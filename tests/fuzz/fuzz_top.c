// SPDX-License-Identifier: Apache-2.0
/* What a provider tells of traffic, or somebody in its place: whatever it is, what is shown is plain text within the terminal, and JSON. */
#include "sluicectl/top_screen.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct top_view *view, const struct top_row *rows, size_t count)
{
	struct buf out;
	buf_init(&out, 64 * 1024 * 1024);
	if (top_screen_print(view, rows, count, &out) != 0)
		abort();
	struct str text = buf_str(&out);
	size_t column = 0;
	for (size_t i = 0; i < text.len; i++) {
		column = text.p[i] == '\n' ? 0 : column + 1;
		if (column > view->width ||
			(text.p[i] != '\n' && (text.p[i] < ' ' || text.p[i] > '~')))
			abort();
	}
	buf_clear(&out);
	if (top_screen_json(view, rows, count, &out) != 0)
		abort();
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct top_view view = {.width = 100, .height = 30, .seconds = 2};
	struct top_sample *before = top_sample_new();
	struct top_sample *now = top_sample_new();
	size_t count;
	/* Keys that somebody types, too. */
	for (size_t i = 0; i < size && i < 64; i++)
		(void)top_view_key(&view, text.p[i], size);
	top_sample_read(before, (struct str){text.p, size / 2});
	top_sample_read(now, text);
	struct top_row *rows = top_rows_between(before, now, &count);
	show(&view, rows, top_view_choose(&view, rows, count));
	free(rows);
	top_sample_free(before);
	top_sample_free(now);
	return 0;
}
