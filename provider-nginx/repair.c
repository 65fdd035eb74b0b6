// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/repair.h"

#include "common/xalloc.h"
#include "provider-proxy/checksum.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/placeholder.h"
#include "provider-proxy/trust.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/folders.h"
#include "provider-nginx/trust_files.h"

static const double look_every_s = 1;

int repair_placeholder(const char *state_dir)
{
	struct buf pem;
	char *path = xasprintf("%s/placeholder.pem", state_dir);
	char *conf = xasprintf("%s/nginx.conf", state_dir);
	buf_init(&pem, TRUST_CONTENT_LEN_MAX);
	const char *problem = checksum_read(path, &pem);
	/* On the very first start no file exists. */
	if (problem != NULL && (files_exist(path) || files_exist(conf)))
		folders_tell_damage(path, problem);
	int err = problem != NULL ? placeholder_write(path) : 0;
	buf_wipe_fini(&pem);
	free(path);
	free(conf);
	return err;
}

/* ---- CAs, whose files are named by their content ---- */

static void repair_trust(struct repair *repair, const struct name *name)
{
	bool is_placeholder = false;
	char *path = xasprintf("%s/trust/%s.pem", repair->config->local.state_dir, name->text);
	const char *problem = placeholder_find_problem(path, name, &is_placeholder);
	if (problem != NULL) {
		folders_tell_damage(path, problem);
		/* If it is wanted yet, the right content follows at once, see trust_files.h. */
		(void)placeholder_write(path);
	}
	if (problem != NULL || is_placeholder)
		repair->has_substitutes = true;
	free(path);
}

bool repair_files(struct repair *repair)
{
	struct name name;
	struct str terms;
	bool can_start = setup_repair(repair->setup);
	struct str names = conf_read_trusts(setup_file(repair->setup));
	(void)repair_placeholder(repair->config->local.state_dir);
	while (conf_next_trust(&names, &name, &terms)) {
		if (name_is_one(NAME_AUTHORITY, name_str(&name)))
			repair_trust(repair, &name);
	}
	/* Once everything wanted is written no substitutes are left, for an nginx that starts now. */
	if (repair->is_complete &&
		trust_files_write(repair->config->local.state_dir, repair->trusts) == 0)
		repair->has_substitutes = false;
	return can_start;
}

void repair_load_state(struct repair *repair)
{
	char *path = local_path(repair->local, "state");
	bool is_new = !setup_has_file(repair->setup) && !files_exist(path);
	const char *problem = feed_load(repair->feed);
	if (problem != NULL && !is_new)
		folders_tell_damage(path, problem);
	free(path);
}

/* ---- files removed while nginx runs ---- */

static bool is_there(const struct repair *repair)
{
	static const char *const names[] = {"nginx.conf", "state", "placeholder.pem", "trust"};
	bool is_there = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && is_there; i++) {
		char *path = local_path(repair->local, names[i]);
		is_there = files_exist(path);
		free(path);
	}
	return is_there;
}

/* The state file follows later: after a failed write the feed waits before it writes again. */
static void make_again(struct repair *repair, bool is_first_look)
{
	const char *folder = repair->config->local.state_dir;
	bool was_gone = !files_exist(folder);
	if (is_first_look)
		log_event(&EV_FOLDER_GONE, LOG_STR("folder", folder));
	char *problem = folders_make(repair->local, repair->config);
	free(problem);
	(void)repair_files(repair);
	feed_kick(repair->feed, local_state(repair->local));
	bool is_gone = !files_exist(folder);
	/* It may go while what was in it before is still being made again. */
	if (!is_first_look && !repair->is_folder_gone && (was_gone || is_gone))
		log_event(&EV_FOLDER_GONE, LOG_STR("folder", folder));
	repair->is_folder_gone = is_gone;
	if (is_gone)
		local_end_without_folder(repair->local);
	repair->on_change(repair->ctx);
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct repair *repair = watcher->data;
	/* Before the first configuration no files are expected. */
	if (!repair->is_complete || !setup_has_file(repair->setup))
		return;
	bool had_files = repair->has_files;
	repair->has_files = is_there(repair);
	if (!repair->has_files)
		make_again(repair, had_files);
}

void repair_watch(struct repair *repair)
{
	ev_timer_init(&repair->look, on_look, look_every_s, look_every_s);
	repair->has_files = true;
	repair->look.data = repair;
	ev_timer_start(local_loop(repair->local), &repair->look);
}

void repair_unwatch(struct repair *repair)
{
	ev_timer_stop(local_loop(repair->local), &repair->look);
}
