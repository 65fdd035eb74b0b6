// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/orphans.h"

#include "common/xalloc.h"
#include "provider-supervisor/log_events.h"
#include "provider-supervisor/processes.h"

#include <signal.h>
#include <string.h>

/* The interval between looks, and how many of them before they are killed. */
static const double look_every_s = 0.02;
enum { LOOKS_MAX = 25 };

struct orphans {
	struct ev_loop *loop;
	const struct kind *kind;
	void (*on_clear)(void *ctx);
	void *ctx;
	pid_t master; /* 0: no orphans */
	uint64_t started;
	ev_timer look;
	unsigned looks;
};

static bool is_orphan(const struct process *process, const void *ctx)
{
	const struct orphans *orphans = ctx;
	return process->session == orphans->master && process->pid != orphans->master &&
	       process->started >= orphans->started &&
	       process_is_called(process, orphans->kind->name);
}

/* nginx shows in a worker's title what it is doing. */
static bool is_serving(const struct kind *kind, const struct process *process)
{
	struct buf title;
	bool is_draining = false;
	if (kind->ends_orphans)
		return true;
	buf_init(&title, PROCESSES_WORDS_LEN_MAX);
	if (process_read_words(process->pid, &title))
		is_draining = strstr(buf_str(&title).p, "is shutting down") != NULL;
	buf_fini(&title);
	return !is_draining;
}

/* Returns how many of them serve. */
static size_t tell_all(struct orphans *orphans, int signal)
{
	size_t count = 0;
	size_t serving = 0;
	struct process *list = processes_list(is_orphan, orphans, &count);
	for (size_t i = 0; i < count; i++) {
		if (!is_serving(orphans->kind, &list[i]))
			continue;
		serving++;
		if (signal == 0)
			continue;
		log_event(&EV_ORPHAN, LOG_INT("pid", list[i].pid),
			LOG_STR("told",
				signal == SIGKILL ? "killed, because it hangs" : "to drain"));
		(void)process_signal(&list[i], signal);
	}
	free(list);
	return serving;
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct orphans *orphans = watcher->data;
	bool is_late = ++orphans->looks >= LOOKS_MAX;
	if (tell_all(orphans, is_late ? SIGKILL : 0) != 0)
		return;
	ev_timer_stop(loop, watcher);
	orphans->master = 0;
	orphans->on_clear(orphans->ctx);
}

bool orphans_end(struct orphans *orphans, pid_t master, uint64_t started)
{
	struct process other;
	/* The pid has been reused, which happens only once its session is empty. */
	if (process_read(master, &other))
		return false;
	orphans->master = master;
	orphans->started = started;
	orphans->looks = 0;
	if (tell_all(orphans, orphans->kind->drain_signal) == 0) {
		orphans->master = 0;
		return false;
	}
	ev_timer_again(orphans->loop, &orphans->look);
	return true;
}

bool orphans_are_serving(const struct orphans *orphans)
{
	return orphans->master != 0;
}

struct orphans *orphans_new(
	struct ev_loop *loop, const struct kind *kind, void (*on_clear)(void *ctx), void *ctx)
{
	struct orphans *orphans = xcalloc(1, sizeof(*orphans));
	orphans->loop = loop;
	orphans->kind = kind;
	orphans->on_clear = on_clear;
	orphans->ctx = ctx;
	ev_timer_init(&orphans->look, on_look, 0., look_every_s);
	orphans->look.data = orphans;
	return orphans;
}

void orphans_free(struct orphans *orphans)
{
	if (orphans == NULL)
		return;
	ev_timer_stop(orphans->loop, &orphans->look);
	free(orphans);
}
