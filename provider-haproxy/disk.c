// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/disk.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/lua_off.h"
#include "provider-haproxy/render.h"
#include "provider-proxy/checksum.h"

#include <stdio.h>
#include <string.h>

static const double flush_after_s = 0.05;
static const double flush_late_s = DISK_LATE_S;
static const double disk_retry_s = 1;

struct disk {
	const struct local_options *options;
	struct local *local;
	struct rowfile *maps[ROW_TABLE_COUNT];
	int error;
	bool is_flush_needed;
	ev_timer due;
	ev_timer late;
	void (*on_due)(void *ctx);
	void (*on_late)(void *ctx);
	void *ctx;
};

static void flush_after(struct disk *disk, double after_s)
{
	ev_timer_stop(local_loop(disk->local), &disk->due);
	ev_timer_set(&disk->due, after_s, 0.);
	ev_timer_start(local_loop(disk->local), &disk->due);
}

void disk_failed(struct disk *disk, int err, const char *what)
{
	if (disk->error != err)
		log_event(&EV_DISK, LOG_STR("file", what), LOG_STR("reason", files_problem(err)));
	disk->error = err;
	char *why = xasprintf("%s: %s", what, files_problem(err));
	local_failed(disk->local, why);
	free(why);
	flush_after(disk, disk_retry_s);
}

void disk_worked(struct disk *disk)
{
	if (disk->error != 0)
		log_event(&EV_DISK_AGAIN);
	disk->error = 0;
}

bool disk_has_failed(const struct disk *disk)
{
	return disk->error != 0;
}

bool disk_may_store(struct disk *disk)
{
	return disk->error == 0 || !ev_is_active(&disk->due);
}

void disk_want_flush(struct disk *disk)
{
	disk->is_flush_needed = true;
	if (!ev_is_active(&disk->due))
		flush_after(disk, flush_after_s);
}

void disk_want_late_flush(struct disk *disk)
{
	if (ev_is_active(&disk->late))
		return;
	ev_timer_set(&disk->late, flush_late_s, 0.);
	ev_timer_start(local_loop(disk->local), &disk->late);
}

bool disk_is_flush_needed(const struct disk *disk)
{
	return disk->is_flush_needed;
}

void disk_flushed(struct disk *disk)
{
	disk->is_flush_needed = false;
}

void disk_put_off(struct disk *disk, double pause_s)
{
	if (disk->is_flush_needed)
		flush_after(disk, pause_s);
}

const char *disk_map_name(enum row_table table)
{
	static const char *const names[ROW_TABLE_COUNT] = {
		[ROW_WHOLE] = "maps/hosts.map",
		[ROW_PREFIX] = "maps/prefixes.map",
		[ROW_POOL] = "maps/pools.map",
		[ROW_RULE] = "maps/rules.map",
	};
	return names[table];
}

bool disk_has_maps(struct str main_file)
{
	const char *name = disk_map_name(ROW_POOL);
	return main_file.len != 0 && memmem(main_file.p, main_file.len, name, strlen(name)) != NULL;
}

int disk_make_folders(const struct disk *disk)
{
	static const char *const names[] = {"haproxy.d", "maps", "certs", "trust", "staged"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = local_path(disk->local, names[i]);
		int err = files_make_dir(path, 0700);
		/* A read-only folder is acceptable: HAProxy may start from it. */
		bool is_there = files_exist(path);
		if (err == 0)
			files_clean(path);
		free(path);
		if (err != 0 && !is_there)
			return err;
	}
	return 0;
}

char *disk_group_path(const struct disk *disk, size_t number)
{
	char name[64];
	snprintf(name, sizeof(name), "haproxy.d/slots-%05zu.cfg", number);
	return local_path(disk->local, name);
}

int disk_write_script(const struct disk *disk, const char **ret_problem)
{
	struct buf content;
	char *path = local_path(disk->local, LUA_OFF_FILE);
	buf_init(&content, RENDER_LEN_MAX);
	int err = 0;
	*ret_problem = checksum_read(path, &content);
	if (*ret_problem != NULL || !str_eq(buf_str(&content), lua_off_script()))
		err = checksum_write(path, lua_off_script(), 0600);
	buf_fini(&content);
	free(path);
	return err;
}

int disk_write_group(const struct disk *disk, struct group *group)
{
	struct buf content;
	char *path = disk_group_path(disk, group->number);
	buf_init(&content, RENDER_LEN_MAX);
	render_group(&content, group);
	int err = checksum_write(path, buf_str(&content), 0600);
	if (err == 0)
		slots_group_written(group);
	buf_fini(&content);
	free(path);
	return err;
}

int disk_write_maps(const struct disk *disk, bool is_whole)
{
	int err = 0;
	for (int table = 0; table < ROW_TABLE_COUNT && err == 0; table++) {
		struct rowfile *map = disk->maps[table];
		bool is_there = rowfile_is_written(map);
		err = is_whole || !is_there ? rowfile_write(map) : rowfile_sync(map);
	}
	return err;
}

int disk_put_row(struct disk *disk, struct row *row)
{
	int err = rowfile_put(disk->maps[row_table(row)], row);
	if (err != 0) {
		disk_failed(disk, err, "the routes");
		return err;
	}
	disk_worked(disk);
	disk_want_flush(disk);
	return 0;
}

struct rowfile *disk_map(const struct disk *disk, enum row_table table)
{
	return disk->maps[table];
}

bool disk_has_proxy_folder(const struct disk *disk)
{
	return strcmp(local_proxy_dir(disk->options), disk->options->state_dir) != 0;
}

void disk_remove_former_maps(const struct disk *disk)
{
	static const char *const names[] = {DISK_FORMER_MAP, "maps/prefix.map"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = local_path(disk->local, names[i]);
		(void)files_remove(path);
		free(path);
	}
}

void disk_remove_former(const struct disk *disk, const char *proxy_dir)
{
	if (!disk_has_proxy_folder(disk) || strcmp(proxy_dir, disk->options->state_dir) == 0)
		return;
	char *log_file = local_path(disk->local, "proxy.log");
	files_remove_sockets(disk->options->state_dir);
	(void)files_remove(log_file);
	free(log_file);
}

static void on_late_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct disk *disk = watcher->data;
	disk->on_late(disk->ctx);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct disk *disk = watcher->data;
	disk->on_due(disk->ctx);
}

struct disk *disk_new(const struct local_options *options, struct local *local,
	void (*on_due)(void *ctx), void (*on_late)(void *ctx), void *ctx, char **ret_problem)
{
	struct disk *disk = xcalloc(1, sizeof(*disk));
	disk->options = options;
	disk->local = local;
	disk->on_due = on_due;
	disk->on_late = on_late;
	disk->ctx = ctx;
	ev_init(&disk->due, on_timer);
	disk->due.data = disk;
	ev_init(&disk->late, on_late_timer);
	disk->late.data = disk;
	int err = disk_make_folders(disk);
	if (err != 0) {
		*ret_problem = xasprintf(
			"a folder in the state folder cannot be made: %s", files_problem(err));
		free(disk);
		return NULL;
	}
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		char *path = local_path(local, disk_map_name((enum row_table)table));
		disk->maps[table] = rowfile_new(local_rows(local), (enum row_table)table, path);
		free(path);
	}
	return disk;
}

void disk_free(struct disk *disk)
{
	ev_timer_stop(local_loop(disk->local), &disk->due);
	ev_timer_stop(local_loop(disk->local), &disk->late);
	for (int table = 0; table < ROW_TABLE_COUNT; table++)
		rowfile_free(disk->maps[table]);
	free(disk);
}
