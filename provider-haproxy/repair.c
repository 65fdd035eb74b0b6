// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/repair.h"

#include "common/xalloc.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/class.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/lua_off.h"
#include "provider-haproxy/pools.h"
#include "provider-proxy/checksum.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/placeholder.h"

#include <errno.h>
#include <stdio.h>

static const double look_every_s = 1;
static const char main_name[] = "haproxy.d/00-main.cfg";
static const char list_name[] = "certs/list.txt";

/* Each damaged file is logged, but not thousands of them at once. */
enum { TOLD_MAX = 16 };

struct repair {
	struct engine *engine;
	size_t damaged_count; /* found in one pass over the files */
	ev_timer look;        /* checks that the folders exist */
};

static void tell(struct engine *engine, const char *path, const char *problem)
{
	if (engine->repair->damaged_count++ < TOLD_MAX)
		log_event(&EV_FILE_DAMAGED, LOG_STR("file", path), LOG_STR("reason", problem));
}

static void tell_path(void *ctx, const char *path, const char *problem)
{
	tell(ctx, path, problem);
}

static void begin_telling(struct engine *engine)
{
	engine->repair->damaged_count = 0;
}

static void end_telling(struct engine *engine)
{
	if (engine->repair->damaged_count <= TOLD_MAX)
		return;
	char *others = xasprintf("%zu more", engine->repair->damaged_count - TOLD_MAX);
	log_event(&EV_FILE_DAMAGED, LOG_STR("file", others), LOG_STR("reason", "likewise"));
	free(others);
}

static bool is_there(const struct engine *engine, const char *name)
{
	char *path = engine_path(engine, name);
	bool is_there = files_exist(path);
	free(path);
	return is_there;
}

/* On the very first start nothing can be missing. */
static bool is_new(const struct engine *engine)
{
	return !main_file_is_installed(engine->main_file) && !is_there(engine, main_name) &&
	       !is_there(engine, disk_map_name(ROW_WHOLE)) && !is_there(engine, list_name);
}

/* ---- CAs and client certificates ---- */

static void check_trust(struct engine *engine, const struct name *name)
{
	bool is_placeholder = false;
	char *path = trust_files_path(&engine->trust, name);
	const char *problem = placeholder_find_problem(path, name, &is_placeholder);
	if (problem != NULL)
		tell(engine, path, problem);
	if (engine_is_complete(engine) && (problem != NULL || is_placeholder))
		pools_refill_trust(engine, name);
	else if (problem != NULL)
		(void)placeholder_write(path);
	/* HAProxy is started with the placeholder, and has to load the right one later. */
	if (problem != NULL || is_placeholder)
		engine->is_reload_forced = true;
	free(path);
}

/* The files that the servers of a group refer to. */
static void check_named(struct engine *engine, struct str group)
{
	static const char folder[] = "/trust/";
	struct name last = {0};
	const char *at;
	while (group.len != 0 &&
		(at = memmem(group.p, group.len, folder, sizeof(folder) - 1)) != NULL) {
		struct name name = {0};
		group = str_skip(group, (size_t)(at - group.p) + sizeof(folder) - 1);
		if (group.len < NAME_LEN)
			break;
		memcpy(name.text, group.p, NAME_LEN);
		bool is_one = name_is_one(NAME_AUTHORITY, name_str(&name)) ||
			      name_is_one(NAME_CLIENT, name_str(&name));
		if (is_one && strcmp(name.text, last.text) != 0)
			check_trust(engine, &name);
		last = name;
	}
}

/* ---- groups of slots ---- */

/* Its purpose is unknown; while HAProxy may run with another group of that number, no pool is assigned to it. */
static void add_unknown_group(struct engine *engine)
{
	static const struct pool plain = {.protocol = POOL_HTTP};
	const char *refused;
	struct class_text text = class_of_pool(&plain, engine->config->cookie_key, &refused);
	struct group *group = slots_add_group(
		&engine->slots, slots_find_class(&engine->slots, text.lines, text.server), 0);
	class_text_fini(&text);
	if (group != NULL)
		group->is_unverified = true;
	engine->is_reload_forced = true;
}

static bool read_group(struct engine *engine, const char *path)
{
	struct buf content;
	buf_init(&content, RENDER_LEN_MAX);
	const char *problem = checksum_read(path, &content);
	bool is_one = problem == NULL && render_read_group(buf_str(&content), &engine->slots);
	if (is_one)
		check_named(engine, buf_str(&content));
	else
		tell(engine, path, problem != NULL ? problem : "is no group of slots");
	buf_fini(&content);
	return is_one;
}

/* As many as the main file says, and those that were installed before it. */
static void read_groups(struct engine *engine, size_t count)
{
	for (size_t i = 0; i < SLOTS_GROUPS_MAX; i++) {
		char *path = disk_group_path(engine->disk, i);
		bool is_last = i >= count && !files_exist(path);
		bool is_one = !is_last && read_group(engine, path);
		if (is_one)
			engine->slots.groups[i]->is_written = true;
		else
			(void)files_remove(path);
		if (!is_one && i < count)
			add_unknown_group(engine);
		free(path);
		if (!is_one && i >= count)
			break;
	}
}

static void repair_group(struct engine *engine, struct group *group)
{
	struct buf content;
	char *path = disk_group_path(engine->disk, group->number);
	buf_init(&content, RENDER_LEN_MAX);
	const char *problem = checksum_read(path, &content);
	if (problem == NULL) {
		check_named(engine, buf_str(&content));
	} else {
		tell(engine, path, problem);
		if (engine_is_complete(engine)) {
			(void)disk_write_group(engine->disk, group);
		} else {
			(void)files_remove(path);
			group->is_written = false;
			group->is_unverified = true;
			engine->is_reload_forced = true;
		}
	}
	buf_fini(&content);
	free(path);
}

/* ---- other files ---- */

/* Not those of a former release. */
static bool needs_maps(const struct engine *engine)
{
	return !main_file_is_installed(engine->main_file) ||
	       disk_has_maps(main_file_installed(engine->main_file));
}

static void repair_maps(struct engine *engine)
{
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct rowfile *file = disk_map(engine->disk, (enum row_table)table);
		const char *problem = rowfile_problem(file);
		if (problem == NULL)
			continue;
		tell(engine, rowfile_path(file), problem);
		(void)(engine_is_complete(engine) ? rowfile_write(file) : rowfile_salvage(file));
	}
}

/* Releases before it did without the script. */
static bool needs_script(const struct engine *engine)
{
	return lua_off_is_loaded(main_file_installed(engine->main_file));
}

static void repair_script(struct engine *engine)
{
	const char *problem = NULL;
	if (needs_script(engine))
		(void)disk_write_script(engine->disk, &problem);
	if (problem == NULL)
		return;
	char *path = engine_path(engine, LUA_OFF_FILE);
	tell(engine, path, problem);
	free(path);
}

static bool repair_main(struct engine *engine)
{
	struct buf content;
	char *path = engine_path(engine, main_name);
	buf_init(&content, RENDER_LEN_MAX);
	const char *problem = checksum_read(path, &content);
	buf_fini(&content);
	bool is_known = main_file_is_installed(engine->main_file);
	if (problem != NULL && is_known) {
		tell(engine, path, problem);
		is_known = checksum_write(path, main_file_installed(engine->main_file), 0600) == 0;
	} else if (problem != NULL) {
		/* It was reported when it was read. */
		(void)files_remove(path);
	}
	free(path);
	return is_known;
}

/* ---- all ---- */

void repair_read(struct engine *engine)
{
	size_t groups = 0;
	char *path = engine_path(engine, main_name);
	begin_telling(engine);
	const char *problem = main_file_read_installed(engine->main_file, path);
	if (problem == NULL) {
		groups = render_read_group_count(main_file_installed(engine->main_file));
		binds_set_held(engine->binds, main_file_installed(engine->main_file));
	} else if (!is_new(engine)) {
		tell(engine, path, problem);
		/* HAProxy may run with it, and is not found before the first snapshot is there: what it listens on is not somebody else's. */
		binds_set_held_unknown(engine->binds);
	}
	read_groups(engine, groups);
	end_telling(engine);
	free(path);
}

bool repair_files(struct engine *engine)
{
	bool is_complete = engine_is_complete(engine);
	if (is_new(engine))
		return false;
	begin_telling(engine);
	if (needs_maps(engine))
		repair_maps(engine);
	for (size_t i = 0; i < engine->slots.group_count; i++) {
		if (engine->slots.groups[i]->is_written)
			repair_group(engine, engine->slots.groups[i]);
	}
	(void)trust_files_write(&engine->trust);
	(void)certs_repair(&engine->certs, is_complete, tell_path, engine);
	repair_script(engine);
	bool can_start = repair_main(engine);
	end_telling(engine);
	return can_start;
}

/* ---- the folders ---- */

bool repair_is_whole(const struct engine *engine)
{
	static const char *const names[] = {"trust", "staged", list_name, main_name};
	/* Before the first configuration no files are expected. */
	if (!main_file_is_installed(engine->main_file))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!is_there(engine, names[i]))
			return false;
	}
	for (int table = 0; table < ROW_TABLE_COUNT && needs_maps(engine); table++) {
		if (!is_there(engine, disk_map_name((enum row_table)table)))
			return false;
	}
	return !needs_script(engine) || is_there(engine, LUA_OFF_FILE);
}

int repair_folders(struct engine *engine)
{
	int err = disk_make_folders(engine->disk);
	log_event(&EV_FOLDER_GONE, LOG_STR("folder", engine->config->local.state_dir),
		LOG_STR("outcome", err == 0 ? "made again" : files_problem(err)));
	if (err == -EACCES)
		local_end_without_folder(engine->local);
	if (err != 0)
		return err;
	(void)repair_files(engine);
	return repair_is_whole(engine) ? 0 : -ENOENT;
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = ((struct repair *)watcher->data)->engine;
	if (!engine_is_complete(engine) || repair_is_whole(engine))
		return;
	disk_want_flush(engine->disk);
	engine_wake(engine);
}

struct repair *repair_new(struct engine *engine)
{
	struct repair *repair = xcalloc(1, sizeof(*repair));
	repair->engine = engine;
	ev_timer_init(&repair->look, on_look, look_every_s, look_every_s);
	repair->look.data = repair;
	ev_timer_start(engine->loop, &repair->look);
	return repair;
}

void repair_free(struct repair *repair)
{
	ev_timer_stop(repair->engine->loop, &repair->look);
	free(repair);
}
