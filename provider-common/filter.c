// SPDX-License-Identifier: Apache-2.0
#include "provider-common/filter.h"

#include "common/files.h"
#include "common/tar.h"
#include "common/xalloc.h"
#include "proto/frame_stream.h"
#include "provider-common/filter_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	const struct provider_filter *filter;
	const struct filter_options *options;
	enum sandbox_mode sandbox;
	struct state *state;
	struct state_commit commit;
	struct filter_job job;
	struct arena scratch;
	bool has_translator;
	bool has_begun;
	bool is_whole;               /* nothing came since the last commit */
	int reports;                 /* descriptor; negative: nobody wants them */
	struct filter_folder folder; /* of --render */
	struct buf frames;
	char *problem; /* with the output; allocated */
	bool is_usage; /* the options are wrong for this provider */
};

static const struct filter_options *options_of(
	const struct provider_filter *filter, const void *config)
{
	return (const void *)((const char *)config + filter->options_offset);
}

bool filter_is_wanted(const void *ctx, const void *config)
{
	const struct filter_options *options = options_of(ctx, config);
	return options->hello || options->render != NULL || options->reports != NULL;
}

static void keep_problem(struct run *run, char *problem)
{
	if (run->problem == NULL)
		run->problem = problem;
	else
		free(problem);
}

/* ---- frames ---- */

static int put_hello(const struct provider_filter *filter, struct buf *out)
{
	struct schema_error error = {""};
	const struct hello hello = {
		.version_min = PROTO_VERSION_MIN,
		.version_max = PROTO_VERSION_MAX,
		.role = ROLE_PROVIDER,
		.name = str_from(filter->name),
		.software = str_from(filter->software),
		.capabilities = filter->capabilities(),
	};
	return message_encode(MESSAGE_HELLO, &hello, out, &error);
}

static char *write_hello(const struct provider_filter *filter)
{
	struct buf out;
	buf_init(&out, FRAME_STREAM_BUF_MAX);
	int err = put_hello(filter, &out);
	if (err == 0)
		err = frame_stream_write(STDOUT_FILENO, &out, 0);
	buf_fini(&out);
	return err == 0 ? NULL : xasprintf("standard output: %s", strerrordesc_np(-err));
}

static int take_translator(
	struct run *run, const struct message *message, struct schema_error *ret_error)
{
	struct hello hello;
	int err =
		frame_stream_take_hello(message, ROLE_TRANSLATOR, &run->scratch, &hello, ret_error);
	run->has_translator = err == 0;
	return err;
}

static int take_change(
	struct run *run, const struct message *message, struct schema_error *ret_error)
{
	struct lb_remove remove;
	if (!run->has_begun) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s before sync-begin",
			message_word(message->type));
		return -EPROTO;
	}
	run->is_whole = message->type == MESSAGE_COMMIT;
	if (message->type == MESSAGE_UPSERT)
		return state_stage_upsert(run->state, message, &run->scratch, ret_error);
	if (message->type == MESSAGE_COMMIT)
		return 0;
	int err = message_decode(message, &run->scratch, &remove, ret_error);
	return err == 0 ? state_stage_remove(run->state, &remove, ret_error) : err;
}

static int on_message(void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct run *run = ctx;
	int err = 0;
	if (!run->has_translator) {
		err = take_translator(run, message, ret_error);
	} else if (message->type == MESSAGE_SYNC_BEGIN) {
		state_begin_snapshot(run->state);
		run->has_begun = true;
	} else if (message->type == MESSAGE_UPSERT || message->type == MESSAGE_REMOVE ||
		   message->type == MESSAGE_COMMIT) {
		err = take_change(run, message, ret_error);
	}
	arena_reset(&run->scratch);
	return err;
}

/* ---- output ---- */

static void write_file(struct run *run, const char *name, struct str content)
{
	char *path = xasprintf("%s/%s", run->folder.path, name);
	char *folder = str_dup((struct str){path, (size_t)(strrchr(path, '/') - path)});
	int err = files_make_dir(folder, 0700);
	if (err == 0)
		err = files_write_loose(path, content, 0600);
	if (err != 0)
		keep_problem(run, xasprintf("%s: %s", path, files_problem(err)));
	free(folder);
	free(path);
}

static void on_file(void *ctx, const char *name, struct str content)
{
	struct run *run = ctx;
	if (run->options->render == NULL || run->problem != NULL)
		return;
	if (run->folder.path != NULL)
		write_file(run, name, content);
	else if (tar_write(stdout, name, content) != 0)
		keep_problem(run, xasprintf("standard output: %s", strerrordesc_np(errno)));
}

static void write_reports(struct run *run, size_t len_min)
{
	int err = frame_stream_write(run->reports, &run->frames, len_min);
	if (err == 0)
		return;
	buf_clear(&run->frames);
	keep_problem(run, xasprintf("%s: %s", run->options->reports, strerrordesc_np(-err)));
}

static void on_notices(void *ctx, const struct object *load_balancer,
	const struct lb_notice *notices, size_t count)
{
	struct run *run = ctx;
	struct schema_error error = {""};
	const struct lb_status status = {
		.id = object_id(load_balancer),
		.rev = object_rev(load_balancer),
		.state = LB_STATE_PENDING,
		.notices = {(struct lb_notice *)(uintptr_t)notices, count},
	};
	if (run->reports < 0)
		return;
	if (message_encode(MESSAGE_LB_STATUS, &status, &run->frames, &error) != 0)
		keep_problem(run, xasprintf("the status of load balancer %.*s: %s",
					  STR_FMT(status.id), error.text));
	write_reports(run, FRAME_STREAM_WRITE_LEN);
}

static char *render(struct run *run, const void *config)
{
	run->job = (struct filter_job){
		.state = run->state,
		.commit = &run->commit,
		.on_file = on_file,
		.on_notices = on_notices,
		.ctx = run,
	};
	state_commit(run->state, &run->commit);
	if (run->reports >= 0 && put_hello(run->filter, &run->frames) != 0)
		return xstrdup("the hello breaks a limit");
	char *problem = run->filter->render(&run->job, config);
	state_commit_done(run->state);
	run->is_usage = problem != NULL;
	if (problem != NULL)
		return problem;
	if (run->reports >= 0)
		write_reports(run, 0);
	bool is_archive = run->options->render != NULL && strcmp(run->options->render, "-") == 0;
	if (is_archive && (tar_end(stdout) != 0 || fflush(stdout) != 0))
		keep_problem(run, xasprintf("standard output: %s", strerrordesc_np(errno)));
	problem = run->problem;
	run->problem = NULL;
	return problem;
}

/* Opens what is written to; after that there is nothing to open but files of the folder. */
static char *open_outputs(struct run *run)
{
	const struct filter_options *options = run->options;
	if (options->reports != NULL)
		run->reports = frame_stream_open_output(options->reports);
	if (options->reports != NULL && run->reports < 0)
		return xasprintf("%s: %s", options->reports, strerrordesc_np(-run->reports));
	int err = filter_folder_make(&run->folder, options->render);
	return err != 0 ? xasprintf("%s: %s", options->render, files_problem(err)) : NULL;
}

static char *confine(const struct run *run)
{
	struct sandbox_outcome outcome = {0};
	if (run->filter->prepare != NULL)
		run->filter->prepare();
	return sandbox_enter(filter_folder_confine(&run->folder), run->sandbox, &outcome);
}

static char *read_and_render(struct run *run, const void *config)
{
	char *problem = open_outputs(run);
	if (problem == NULL)
		problem = confine(run);
	if (problem != NULL)
		return problem;
	problem = frame_stream_read(STDIN_FILENO, "standard input", on_message, run);
	if (problem == NULL && !run->is_whole)
		problem = xstrdup("standard input ends before a commit");
	return problem == NULL ? render(run, config) : problem;
}

char *filter_run(const void *ctx, void *config, bool *ret_usage)
{
	const struct provider_filter *filter = ctx;
	const struct daemon_options *common =
		(const void *)((const char *)config + filter->common_offset);
	struct run run = {
		.filter = filter,
		.options = options_of(filter, config),
		.sandbox = (enum sandbox_mode)common->sandbox,
		.reports = -1,
	};
	if (run.options->hello)
		return write_hello(filter);
	char *problem = filter->check != NULL ? filter->check(config) : NULL;
	*ret_usage = problem != NULL;
	if (problem != NULL)
		return problem;
	run.state = state_new(&(struct state_config){.reduce = filter->reduce});
	arena_init(&run.scratch);
	buf_init(&run.frames, FRAME_STREAM_BUF_MAX);
	problem = read_and_render(&run, config);
	*ret_usage = run.is_usage;
	if (problem != NULL)
		filter_folder_undo(&run.folder);
	filter_folder_fini(&run.folder);
	free(run.problem);
	buf_fini(&run.frames);
	arena_fini(&run.scratch);
	state_free(run.state);
	return problem;
}
