// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/flush.h"

#include "common/clock.h"
#include "provider-haproxy/connection.h"
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
		if (!group->is_due || !group->is_written)
			continue;
		int err = disk_write_group(engine->disk, group);
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
	if (err == 0) {
		what = "the routes";
		err = disk_write_maps(engine->disk, false);
	}
	if (err != 0) {
		disk_failed(engine->disk, err, what);
		return err;
	}
	disk_flushed(engine->disk);
	/* No file names them any more. */
	trust_files_sweep(&engine->trust, connection_worker(engine->connection));
	/* While routes wait to be stored, only storing one proves anything. */
	if (rows_dirty_count(local_rows(engine->local)) == 0)
		disk_worked(engine->disk);
	return 0;
}

int flush_all(struct engine *engine)
{
	(void)slots_all_are_due(&engine->slots);
	return flush_files(engine);
}

void flush_on_late(void *ctx)
{
	struct engine *engine = ctx;
	if (slots_all_are_due(&engine->slots))
		disk_want_flush(engine->disk);
}

void flush_on_due(void *ctx)
{
	struct engine *engine = ctx;
	if (!engine_is_complete(engine))
		return;
	double before = clock_monotonic_s();
	int err = flush_files(engine);
	double pause_s = (clock_monotonic_s() - before) * pause_share;
	engine_wake(engine);
	/* Until this has passed, nothing is written again. */
	if (err == 0 && pause_s > pause_min_s)
		disk_put_off(engine->disk, pause_s < pause_max_s ? pause_s : pause_max_s);
}
