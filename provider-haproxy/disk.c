// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/disk.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "provider-haproxy/log_events.h"
#include "provider-proxy/checksum.h"

#include <stdio.h>
#include <string.h>

static const double flush_after_s = 0.05;
static const double disk_retry_s = 1;

void disk_failed(struct engine *engine, int err, const char *what)
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

void disk_worked(struct engine *engine)
{
	if (engine->disk_error != 0)
		log_event(&EV_DISK_AGAIN);
	engine->disk_error = 0;
}

void disk_want_flush(struct engine *engine)
{
	engine->is_flush_needed = true;
	if (ev_is_active(&engine->flush))
		return;
	ev_timer_set(&engine->flush, flush_after_s, 0.);
	ev_timer_start(engine->loop, &engine->flush);
}

int disk_make_folders(const struct engine *engine)
{
	static const char *const names[] = {"haproxy.d", "maps", "certs", "trust", "staged"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = engine_path(engine, names[i]);
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

char *disk_group_path(const struct engine *engine, size_t number)
{
	char name[64];
	snprintf(name, sizeof(name), "haproxy.d/slots-%05zu.cfg", number);
	return engine_path(engine, name);
}

int disk_write_group(struct engine *engine, struct group *group)
{
	struct buf content;
	char *path = disk_group_path(engine, group->number);
	buf_init(&content, RENDER_LEN_MAX);
	render_group(&content, group);
	int err = checksum_write(path, buf_str(&content), 0600);
	if (err == 0)
		group->is_changed = false;
	buf_fini(&content);
	free(path);
	return err;
}

bool disk_has_proxy_folder(const struct engine *engine)
{
	const struct local_options *options = &engine->config->local;
	return strcmp(local_proxy_dir(options), options->state_dir) != 0;
}

void disk_remove_former(const struct engine *engine)
{
	if (!disk_has_proxy_folder(engine) ||
		strcmp(engine->proxy_dir, engine->config->local.state_dir) == 0)
		return;
	char *log_file = engine_path(engine, "proxy.log");
	files_remove_sockets(engine->config->local.state_dir);
	(void)files_remove(log_file);
	free(log_file);
}
