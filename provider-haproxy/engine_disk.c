// SPDX-License-Identifier: Apache-2.0
/* The files of the engine: when they are written, and what becomes of a disk that takes none. */
#include "provider-haproxy/engine.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/repair.h"
#include "provider-local/checksum.h"
#include "common/files.h"

#include <stdio.h>

/* Files are written together, and the pause is a multiple of what writing them took. */
static const double flush_after_s = 0.05;
static const double flush_share = 10;
static const double disk_retry_s = 1;

void engine_disk_failed(struct engine *engine, int err, const char *what)
{
	if (engine->disk_error != err)
		log_event(&EV_DISK, LOG_STR("file", what), LOG_STR("reason", files_problem(err)));
	engine->disk_error = err;
	char *why = xasprintf("%s: %s", what, files_problem(err));
	local_failed(engine->local, why);
	free(why);
	ev_timer_stop(engine->loop, &engine->flush);
	ev_timer_set(&engine->flush, disk_retry_s, 0.);
	ev_timer_start(engine->loop, &engine->flush);
}

void engine_disk_worked(struct engine *engine)
{
	if (engine->disk_error != 0)
		log_event(&EV_DISK_AGAIN);
	engine->disk_error = 0;
}

void engine_want_flush(struct engine *engine)
{
	engine->is_flush_needed = true;
	if (ev_is_active(&engine->flush))
		return;
	ev_timer_set(&engine->flush, flush_after_s, 0.);
	ev_timer_start(engine->loop, &engine->flush);
}

int engine_make_folders(const struct engine *engine)
{
	static const char *const names[] = {"haproxy.d", "maps", "certs", "trust", "staged"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = engine_path(engine, names[i]);
		int err = files_make_dir(path, 0700);
		/* One that is read-only is no reason to end: HAProxy may start from it. */
		bool is_there = files_exist(path);
		if (err == 0)
			files_clean(path);
		free(path);
		if (err != 0 && !is_there)
			return err;
	}
	return 0;
}

char *engine_group_path(const struct engine *engine, size_t number)
{
	char name[64];
	snprintf(name, sizeof(name), "haproxy.d/slots-%05zu.cfg", number);
	return engine_path(engine, name);
}

int engine_write_group(struct engine *engine, struct group *group)
{
	struct buf content;
	char *path = engine_group_path(engine, group->number);
	buf_init(&content, RENDER_LEN_MAX);
	render_group(&content, group);
	int err = checksum_write(path, buf_str(&content), 0600);
	if (err == 0)
		group->is_changed = false;
	buf_fini(&content);
	free(path);
	return err;
}

static int write_groups(struct engine *engine)
{
	for (size_t i = 0; i < engine->slots.group_count; i++) {
		struct group *group = engine->slots.groups[i];
		/* New ones go by way of a check, see change.c. */
		if (!group->is_changed || !group->is_written)
			continue;
		int err = engine_write_group(engine, group);
		if (err != 0)
			return err;
	}
	return 0;
}

int engine_flush(struct engine *engine)
{
	const char *what = "the state folder";
	int err = repair_is_whole(engine) ? 0 : repair_folders(engine);
	if (err == 0) {
		what = "a CA or a client certificate for backends";
		err = trust_files_write(&engine->trust);
	}
	if (err == 0) {
		what = "the servers of pools";
		err = write_groups(engine);
	}
	if (err == 0) {
		what = "the list of certificates";
		err = certs_write_list(&engine->certs);
	}
	for (int table = 0; table < ROW_TABLE_COUNT && err == 0; table++) {
		what = "the routes";
		err = rowfile_is_written(engine->files[table])
			      ? rowfile_sync(engine->files[table])
			      : rowfile_write(engine->files[table]);
	}
	if (err != 0) {
		engine_disk_failed(engine, err, what);
		return err;
	}
	engine->is_flush_needed = false;
	/* No file names them any more. */
	trust_files_sweep(&engine->trust, engine->worker);
	/* While routes wait to be stored, only storing one proves anything. */
	if (rows_dirty_count(local_rows(engine->local)) == 0)
		engine_disk_worked(engine);
	return 0;
}

static void on_flush(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	(void)events;
	if (!engine_is_complete(engine))
		return;
	double before = clock_monotonic_s();
	ev_timer_stop(loop, watcher);
	if (engine_flush(engine) == 0) {
		/* Until this has passed, nothing is written again. */
		double pause_s = (clock_monotonic_s() - before) * flush_share;
		engine_step(engine);
		if (engine->is_flush_needed && pause_s > flush_after_s) {
			ev_timer_stop(loop, watcher);
			ev_timer_set(watcher, pause_s < 2 ? pause_s : 2, 0.);
			ev_timer_start(loop, watcher);
		}
	} else {
		engine_step(engine);
	}
}

void engine_init_flush(struct engine *engine)
{
	ev_init(&engine->flush, on_flush);
	engine->flush.data = engine;
}
