// SPDX-License-Identifier: Apache-2.0
/* The table of `sluicectl top`, as text and as JSON: which Ingresses, in which order, and how they look on a terminal of any size. No I/O. */
#pragma once

#include "common/buf.h"
#include "sluicectl/top_sample.h"

enum {
	TOP_FILTER_LEN_MAX = 320,
	TOP_WIDTH_MAX = 512,   /* columns of a terminal that are used */
	TOP_HEIGHT_MAX = 4096, /* likewise lines */
};

enum top_order { TOP_BY_REQUESTS, TOP_BY_ERRORS, TOP_BY_LATENCY, TOP_BY_BYTES, TOP_BY_NAME };

struct top_view {
	enum top_order order;
	char filter[TOP_FILTER_LEN_MAX + 1]; /* part of NAMESPACE/NAME; empty: all */
	bool is_typing;                      /* the filter */
	size_t skip;
	size_t width;        /* 0: lines are as long as they are */
	size_t height;       /* lines with head and foot; 0: all Ingresses, without them */
	double seconds;      /* that the rows are about; 0: since counting began */
	const char *problem; /* why there is nothing new; NULL: nothing is wrong */
};

/* "requests" and so on. False: it is none of them. */
bool top_order_read(const char *word, enum top_order *ret_order);
/* Sorts the rows, those that are shown first, and returns how many these are: of the filter, and, unless all since the beginning are wanted, with requests. */
size_t top_view_choose(const struct top_view *view, struct top_row *rows, size_t count);

/* What a key does. False: it ends the program. Bytes that are no key of ours do nothing. */
bool top_view_key(struct top_view *view, char key, size_t shown);

/* Appends lines, each cut at the width. `count` as of top_view_choose(). -EMSGSIZE: no room. */
[[nodiscard]] int top_screen_print(
	const struct top_view *view, const struct top_row *rows, size_t count, struct buf *out);
/* An array of objects. -EMSGSIZE. */
[[nodiscard]] int top_screen_json(
	const struct top_view *view, const struct top_row *rows, size_t count, struct buf *out);
