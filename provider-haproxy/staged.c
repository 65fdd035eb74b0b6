// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/staged.h"

#include "common/xalloc.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/pools.h"
#include "common/files.h"
#include "provider-proxy/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void staged_update_main(struct engine *engine)
{
	pools_provide(engine);
	struct render_input input = {
		.state_dir = engine->config->local.state_dir,
		.proxy_dir = engine->proxy_dir,
		.socket = connection_socket(engine->connection),
		.system_ca = engine->config->trusted_certificates,
		.ports = binds_ports(engine->binds),
		.group_count = engine->slots.group_count,
		.groups_layout = slots_layout(&engine->slots),
		.has_default = certs_has_default(&engine->certs),
		.hard_stop_after_s = (unsigned)engine->config->hard_stop_after,
		.access_log = (enum access_log_form)engine->config->local.access_log,
		.access_log_server = config_access_log_server(engine->config),
		.trusted_proxies = &engine->config->local.trusted_proxies,
		.client_header = engine->config->local.client_address_header,
		.trace_context = (enum trace_context)engine->config->local.trace_context,
		.metrics_ingresses = engine->config->local.metrics_ingresses,
	};
	main_file_make(engine->main_file, input);
}

static int clear_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	if (folder == NULL)
		return -errno;
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	closedir(folder);
	return 0;
}

static int link_all(const char *from, const char *to)
{
	DIR *folder = opendir(from);
	DIR *target = opendir(to);
	struct dirent *entry;
	int err = folder == NULL || target == NULL ? -errno : 0;
	while (folder != NULL && target != NULL && err == 0 && (entry = readdir(folder)) != NULL) {
		if (str_ends_with(str_from(entry->d_name), STR(".cfg")) &&
			linkat(dirfd(folder), entry->d_name, dirfd(target), entry->d_name, 0) != 0)
			err = -errno;
	}
	if (folder != NULL)
		closedir(folder);
	if (target != NULL)
		closedir(target);
	return err;
}

static int write_staged(struct engine *engine, const char *name, struct str content)
{
	char *file = xasprintf("staged/%s", name);
	char *path = engine_path(engine, file);
	/* A linked file keeps its old content under its other name: the new file is renamed over this name. */
	int err = checksum_write_loose(path, content, 0600);
	free(path);
	free(file);
	return err;
}

static void group_name(const struct group *group, char name[32])
{
	snprintf(name, 32, "slots-%05u.cfg", group->number);
}

static int stage_groups(struct engine *engine, bool is_all)
{
	int err = 0;
	for (size_t i = 0; i < engine->slots.group_count && err == 0; i++) {
		struct group *group = engine->slots.groups[i];
		struct buf content;
		char name[32];
		group->is_staged = !group->is_written || is_all;
		if (!group->is_staged)
			continue;
		group_name(group, name);
		buf_init(&content, RENDER_LEN_MAX);
		render_group(&content, group);
		err = write_staged(engine, name, buf_str(&content));
		group->is_unsynced = true;
		buf_fini(&content);
	}
	return err;
}

/* Other files that the configuration refers to. */
static int write_rest(struct engine *engine, bool is_offline)
{
	const char *problem;
	int err = disk_write_script(engine->disk, &problem);
	if (err == 0)
		err = trust_files_write(&engine->trust);
	if (err == 0)
		err = disk_write_maps(engine->disk, is_offline);
	if (err == 0 && is_offline) {
		err = certs_write_all(&engine->certs);
		/* The default certificate may be in the list now. */
		staged_update_main(engine);
	}
	return err;
}

int staged_write(struct engine *engine, bool is_offline)
{
	char *live = engine_path(engine, "haproxy.d");
	char *staged = engine_path(engine, "staged");
	int err = write_rest(engine, is_offline);
	if (err == 0)
		err = clear_folder(staged);
	if (err == 0)
		err = link_all(live, staged);
	if (err == 0)
		err = stage_groups(engine, is_offline);
	if (err == 0)
		err = write_staged(engine, "00-main.cfg", main_file_text(engine->main_file));
	free(live);
	free(staged);
	return err;
}

static int sync_one(struct engine *engine, const char *folder, const char *name)
{
	char *file = xasprintf("%s/%s", folder, name);
	char *path = engine_path(engine, file);
	int err = files_sync(path);
	free(path);
	free(file);
	return err;
}

int staged_sync(struct engine *engine, const char *folder)
{
	int err = 0;
	for (size_t i = 0; i < engine->slots.group_count && err == 0; i++) {
		struct group *group = engine->slots.groups[i];
		char name[32];
		group_name(group, name);
		if (group->is_unsynced)
			err = sync_one(engine, folder, name);
		group->is_unsynced = group->is_unsynced && err != 0;
	}
	if (err == 0)
		err = sync_one(engine, folder, "00-main.cfg");
	return err == 0 ? sync_one(engine, folder, "") : err;
}

static int move_one(struct engine *engine, const char *name)
{
	char *from_name = xasprintf("staged/%s", name);
	char *to_name = xasprintf("haproxy.d/%s", name);
	char *from = engine_path(engine, from_name);
	char *to = engine_path(engine, to_name);
	int err = rename(from, to) == 0 || errno == ENOENT ? 0 : -errno;
	free(from_name);
	free(to_name);
	free(from);
	free(to);
	return err;
}

/* Slots first: a main file must never refer to missing ones. */
int staged_install(struct engine *engine, bool is_unchanged)
{
	int err = 0;
	for (size_t i = 0; i < engine->slots.group_count && err == 0; i++) {
		struct group *group = engine->slots.groups[i];
		char name[32];
		group_name(group, name);
		/* A group made during the check waits for the next one. */
		if (!group->is_staged)
			continue;
		err = move_one(engine, name);
		group->is_written = group->is_written || err == 0;
		group->is_staged = false;
		if (is_unchanged && err == 0)
			slots_group_written(group);
	}
	if (err == 0)
		err = move_one(engine, "00-main.cfg");
	if (err != 0)
		return err;
	main_file_set_installed(engine->main_file);
	binds_set_held(engine->binds, main_file_installed(engine->main_file));
	return 0;
}
