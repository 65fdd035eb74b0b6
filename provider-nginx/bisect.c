// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/bisect.h"

#include "common/xalloc.h"

/* The next piece to try, and how many at once. */
struct bisect {
	size_t count;
	size_t *pieces; /* those that may be left out */
	size_t piece_count;
	size_t done;  /* how many of them are decided */
	size_t width; /* of the current group */
	bool *is_out; /* known to be bad, or not decided yet */
	bool *tried;
	bool has_core; /* it is good without any of these */
	bool is_hopeless;
};

struct bisect *bisect_new(size_t count, const bool *may_go)
{
	struct bisect *bisect = xcalloc(1, sizeof(*bisect));
	bisect->count = count;
	bisect->pieces = xcalloc(count + 1, sizeof(*bisect->pieces));
	bisect->is_out = xcalloc(count + 1, sizeof(bool));
	bisect->tried = xcalloc(count + 1, sizeof(bool));
	for (size_t i = 0; i < count; i++) {
		if (!may_go[i])
			continue;
		bisect->pieces[bisect->piece_count++] = i;
		bisect->is_out[i] = true;
	}
	return bisect;
}

void bisect_free(struct bisect *bisect)
{
	if (bisect == NULL)
		return;
	free(bisect->pieces);
	free(bisect->is_out);
	free(bisect->tried);
	free(bisect);
}

const bool *bisect_next(struct bisect *bisect)
{
	if (bisect->is_hopeless || (bisect->has_core && bisect->done == bisect->piece_count))
		return NULL;
	for (size_t i = 0; i < bisect->count; i++)
		bisect->tried[i] = bisect->is_out[i];
	for (size_t i = 0; i < bisect->width; i++)
		bisect->tried[bisect->pieces[bisect->done + i]] = false;
	return bisect->tried;
}

static void begin_group(struct bisect *bisect)
{
	bisect->width = bisect->piece_count - bisect->done;
}

void bisect_told(struct bisect *bisect, bool is_good)
{
	if (!bisect->has_core) {
		bisect->has_core = is_good;
		bisect->is_hopeless = !is_good;
		begin_group(bisect);
		return;
	}
	if (is_good) {
		for (size_t i = 0; i < bisect->width; i++)
			bisect->is_out[bisect->pieces[bisect->done + i]] = false;
		bisect->done += bisect->width;
		begin_group(bisect);
	} else if (bisect->width == 1) {
		bisect->done++;
		begin_group(bisect);
	} else {
		bisect->width /= 2;
	}
}

const bool *bisect_result(const struct bisect *bisect)
{
	return bisect->is_hopeless ? NULL : bisect->is_out;
}
