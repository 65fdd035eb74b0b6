// SPDX-License-Identifier: Apache-2.0
#include "common/heap.h"

#include <malloc.h>

enum {
	/* Large buffers get mappings of their own, unmapped when freed; glibc would raise this limit. */
	OWN_MAPPING_MIN = 256 * 1024,
	/* The end of the heap is left to the trimmer, rather than returned and taken again with each page of a list. */
	END_KEPT_MAX = 8 * 1024 * 1024,
};

void heap_configure(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_MIN);
	mallopt(M_TRIM_THRESHOLD, END_KEPT_MAX);
}

static void trim_heap(void)
{
	malloc_trim(0);
}

static void on_time(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct heap_trimmer *trimmer = timer->data;
	trimmer->has_trimmed = true;
	trimmer->trim();
}

/* Before the loop waits: it has just been active. */
static void on_activity(struct ev_loop *loop, ev_prepare *activity, int events)
{
	struct heap_trimmer *trimmer = activity->data;
	if (trimmer->has_trimmed) {
		trimmer->has_trimmed = false;
		return;
	}
	if (ev_is_active(&trimmer->timer))
		return;
	ev_timer_set(&trimmer->timer, trimmer->after_s, 0.);
	ev_timer_start(loop, &trimmer->timer);
}

void heap_trimmer_start(
	struct heap_trimmer *trimmer, struct ev_loop *loop, double after_s, void (*trim)(void))
{
	*trimmer =
		(struct heap_trimmer){.after_s = after_s, .trim = trim != NULL ? trim : trim_heap};
	ev_prepare_init(&trimmer->activity, on_activity);
	ev_init(&trimmer->timer, on_time);
	trimmer->activity.data = trimmer->timer.data = trimmer;
	ev_prepare_start(loop, &trimmer->activity);
}

void heap_trimmer_stop(struct heap_trimmer *trimmer, struct ev_loop *loop)
{
	ev_prepare_stop(loop, &trimmer->activity);
	ev_timer_stop(loop, &trimmer->timer);
}
