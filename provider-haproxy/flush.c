// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/flush.h"

#include "common/clock.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/repair.h"

/* The pause after a flush is this multiple of its duration. */
static const double pause_share = 10;
static const double pause_min_s = 0.05;
static const double pause_max_s = 2;

static int write_groups(struct engine *engine)
{
	for (size_t i = 0; i < engine->slots.group_count; i++) {
		struct group *group = engine->slots.groups[i];
		/* New groups are written by a change, after a check, see change.c. */
		if (!group->is_changed || !group->is_written)
			continue;
		int err = disk_write_group(engine, group);
		if (err != 0)
			return err;
	}
	return 0;
}
int flush_files(struct engine *engine)
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
		disk_failed(engine, err, what);
		return err;
	}
	engine->is_flush_needed = false;
	/* No file refers to them any more. */
	trust_files_sweep(&engine->trust, engine->worker);
	/* While routes wait to be stored, only storing one proves that the disk works. */
	if (rows_dirty_count(local_rows(engine->local)) == 0)
		disk_worked(engine);
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
	if (flush_files(engine) == 0) {
		/* The earliest time of the next write. */
		double pause_s = (clock_monotonic_s() - before) * pause_share;
		engine_wake(engine);
		if (engine->is_flush_needed && pause_s > pause_min_s) {
			ev_timer_stop(loop, watcher);
			ev_timer_set(watcher, pause_s < pause_max_s ? pause_s : pause_max_s, 0.);
			ev_timer_start(loop, watcher);
		}
	} else {
		engine_wake(engine);
	}
}

void flush_init(struct engine *engine)
{
	ev_init(&engine->flush, on_flush);
	engine->flush.data = engine;
}
