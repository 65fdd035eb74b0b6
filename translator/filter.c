// SPDX-License-Identifier: Apache-2.0
#include "translator/filter.h"

#include "common/cert.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "proto/frame_stream.h"
#include "proto/inspection.h"
#include "translator/confine.h"
#include "translator/explain.h"
#include "translator/explain_request.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXPLANATION_LEN_MAX = 64 * 1024 * 1024 };

/* Outgoing frames. */
struct outflow {
	int fd; /* negative: not wanted */
	struct buf frames;
	int err; /* of the first failed write; negative errno */
};

struct filter {
	const struct translator_config *config;
	struct engine *engine;
	struct outflow down; /* to the provider */
	struct outflow up;   /* to the watcher */
	int hello_fd;
	struct arena arena; /* lives as long as the filter */
	struct arena scratch;
	struct hello provider;
	bool has_provider;
	bool has_watcher;
	/* The Ingresses received, in order; only with --report-foreign. */
	struct record_key *ingresses;
	size_t ingress_count;
	/* For --explain. */
	enum record_kind explained_kind;
	struct str explained_namespace;
	struct str explained_name;
	struct explain_request request;
	bool explains_request;
};

/* ---- out ---- */

static void outflow_init(struct outflow *outflow, int fd)
{
	*outflow = (struct outflow){.fd = fd};
	buf_init(&outflow->frames, FRAME_STREAM_BUF_MAX);
}

static void outflow_write(struct outflow *outflow, size_t len_min)
{
	int err = outflow->fd >= 0 && outflow->err == 0
			  ? frame_stream_write(outflow->fd, &outflow->frames, len_min)
			  : 0;
	outflow->err = outflow->err != 0 ? outflow->err : err;
	if (outflow->fd < 0 || outflow->err != 0)
		buf_clear(&outflow->frames);
}

static void outflow_fini(struct outflow *outflow)
{
	buf_wipe_fini(&outflow->frames);
}

static void send_value(struct outflow *outflow, enum message_type type, const void *value)
{
	struct schema_error error = {""};
	must(message_encode(type, value, &outflow->frames, &error) == 0);
	outflow_write(outflow, FRAME_STREAM_WRITE_LEN);
}

static struct buf *source_out(void *ctx)
{
	struct filter *filter = ctx;
	outflow_write(&filter->up, FRAME_STREAM_WRITE_LEN);
	return &filter->up.frames;
}

static struct buf *provider_out(void *ctx)
{
	struct filter *filter = ctx;
	outflow_write(&filter->down, FRAME_STREAM_WRITE_LEN);
	return &filter->down.frames;
}

static void flush(void *ctx)
{
}

static const struct engine_ops engine_ops = {
	.source_out = source_out,
	.source_flush = flush,
	.provider_out = provider_out,
	.provider_flush = flush,
};

/* ---- in ---- */

static struct str_list kept_list(struct arena *arena, const struct str_list *list)
{
	struct str_list kept = {arena_calloc(arena, list->count, sizeof(*kept.items)), list->count};
	for (size_t i = 0; i < list->count; i++)
		kept.items[i] = arena_str(arena, list->items[i]);
	return kept;
}

static int on_provider_hello(
	void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct filter *filter = ctx;
	struct hello hello;
	if (filter->has_provider)
		return 0;
	int err = frame_stream_take_hello(
		message, ROLE_PROVIDER, &filter->scratch, &hello, ret_error);
	if (err == 0 && hello.capabilities == NULL) {
		snprintf(ret_error->text, sizeof(ret_error->text),
			"a provider must say its capabilities");
		err = -EPROTO;
	}
	if (err != 0)
		return err;
	struct capabilities *capabilities = arena_alloc(&filter->arena, sizeof(*capabilities));
	*capabilities = (struct capabilities){
		.grouping = hello.capabilities->grouping,
		.protocols = kept_list(&filter->arena, &hello.capabilities->protocols),
		.policies = kept_list(&filter->arena, &hello.capabilities->policies),
		.features = kept_list(&filter->arena, &hello.capabilities->features),
	};
	filter->provider = hello;
	filter->provider.name = arena_str(&filter->arena, hello.name);
	filter->provider.software = arena_str(&filter->arena, hello.software);
	filter->provider.capabilities = capabilities;
	filter->has_provider = true;
	arena_reset(&filter->scratch);
	return 0;
}

static int note_ingress(
	struct filter *filter, const struct message *message, struct schema_error *ret_error)
{
	struct ingress_record record;
	int err = message_decode(message, &filter->scratch, &record, ret_error);
	if (err == 0) {
		struct record_key *key = arena_push(&filter->arena, (void **)&filter->ingresses,
			&filter->ingress_count, sizeof(*key));
		*key = (struct record_key){
			.kind = RECORD_INGRESS,
			.namespace = arena_str(&filter->arena, record.key.namespace),
			.name = arena_str(&filter->arena, record.key.name),
			.uid = arena_str(&filter->arena, record.key.uid),
		};
	}
	arena_reset(&filter->scratch);
	return err;
}

/* Messages about a live link or the leader mean nothing here. */
static bool is_of_links(enum message_type type)
{
	return type == MESSAGE_UNKNOWN || type == MESSAGE_PING || type == MESSAGE_PONG ||
	       type == MESSAGE_BYE || type == MESSAGE_LEAD;
}

static int on_source_message(
	void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct filter *filter = ctx;
	if (!filter->has_watcher) {
		struct hello hello;
		int err = frame_stream_take_hello(
			message, ROLE_WATCHER, &filter->scratch, &hello, ret_error);
		filter->has_watcher = err == 0;
		arena_reset(&filter->scratch);
		return err;
	}
	if (is_of_links(message->type))
		return 0;
	int err = engine_source_message(filter->engine, message, ret_error);
	if (err == 0 && filter->config->report_foreign && message->type == MESSAGE_UPSERT &&
		message->record_kind == RECORD_INGRESS)
		err = note_ingress(filter, message, ret_error);
	return err;
}

static char *read_provider(struct filter *filter)
{
	const char *path = filter->config->hello;
	char *problem = frame_stream_read(filter->hello_fd, path, on_provider_hello, filter);
	if (problem == NULL && !filter->has_provider)
		problem = xasprintf("%s: there is no hello of a provider in it", path);
	return problem;
}

static char *read_source(struct filter *filter)
{
	char *problem =
		frame_stream_read(STDIN_FILENO, "standard input", on_source_message, filter);
	if (problem == NULL && !filter->has_watcher)
		problem = xstrdup("standard input: there is no hello of a watcher in it");
	return problem;
}

/* ---- other output ---- */

static void report_foreign(struct filter *filter)
{
	for (size_t i = 0; i < filter->ingress_count; i++) {
		const struct record_key *key = &filter->ingresses[i];
		struct inspection_explanation explained;
		if (explain_foreign_object(filter->engine, RECORD_INGRESS, key->namespace,
			    key->name, &filter->scratch, &explained) &&
			explained.problems.count != 0) {
			const struct event_note note = {
				.key = *key,
				.type = EVENT_NORMAL,
				.reason = explained.problems.items[0].reason,
				.message = explained.problems.items[0].message,
				.standing = true,
			};
			send_value(&filter->up, MESSAGE_EVENT, &note);
		}
		arena_reset(&filter->scratch);
	}
}

static void report_differences(struct filter *filter)
{
	for (size_t i = 0; i < filter->ingress_count; i++) {
		const struct record_key *key = &filter->ingresses[i];
		struct diag_list diags;
		diag_list_init(&diags, &filter->scratch);
		explain_nginx_differences(filter->engine, key->namespace, key->name, &diags);
		for (size_t k = 0; k < diags.count; k++) {
			const struct event_note note = {
				.key = *key,
				.type = EVENT_NORMAL,
				.reason = diags.items[k].reason,
				.message = diags.items[k].message,
				.standing = true,
			};
			send_value(&filter->up, MESSAGE_EVENT, &note);
		}
		arena_reset(&filter->scratch);
	}
}

static char *write_explanation(struct filter *filter)
{
	struct inspection_explanation explanation;
	struct outflow out = {.fd = STDOUT_FILENO};
	if (filter->explains_request)
		explain_find_route(
			filter->engine, &filter->request, &filter->scratch, &explanation);
	else if (!explain_object(filter->engine, filter->explained_kind,
			 filter->explained_namespace, filter->explained_name, &filter->scratch,
			 &explanation))
		return NULL;
	explanation.provider = filter->provider.name;
	buf_init(&out.frames, EXPLANATION_LEN_MAX);
	char *problem = NULL;
	if (inspection_encode(&inspection_explanation_schema, &explanation, &out.frames) != 0)
		problem = xstrdup("the explanation breaks a limit");
	outflow_write(&out, 0);
	filter->down.err = out.err;
	outflow_fini(&out);
	return problem;
}

static char *read_url(struct filter *filter)
{
	const char *problem = explain_read_url(
		str_from(filter->config->explain), &filter->arena, &filter->request);
	filter->explains_request = true;
	return problem != NULL ? xasprintf("--explain: %s: %s", filter->config->explain, problem)
			       : NULL;
}

/* "ingress/NAMESPACE/NAME", or a URL */
static char *read_explained(struct filter *filter)
{
	struct str text = str_from(filter->config->explain);
	struct str ingress = STR("ingress/");
	struct str service = STR("service/");
	bool is_service = str_starts_with(text, service);
	if (filter->config->explain == NULL)
		return NULL;
	if (memmem(text.p, text.len, "://", 3) != NULL)
		return read_url(filter);
	filter->explained_kind = is_service ? RECORD_SERVICE : RECORD_INGRESS;
	struct str rest = str_skip(text, is_service ? service.len : ingress.len);
	const char *slash =
		is_service || str_starts_with(text, ingress) ? str_find(rest, '/') : NULL;
	if (slash == NULL)
		return xstrdup("--explain: ingress/NAMESPACE/NAME, service/NAMESPACE/NAME or a "
			       "URL is expected");
	filter->explained_namespace = (struct str){rest.p, (size_t)(slash - rest.p)};
	filter->explained_name = str_skip(rest, filter->explained_namespace.len + 1);
	return NULL;
}

/* ---- lifecycle ---- */

static void send_hello(struct outflow *outflow)
{
	const struct hello hello = {
		.version_min = PROTO_VERSION_MIN,
		.version_max = PROTO_VERSION_MAX,
		.role = ROLE_TRANSLATOR,
		.name = STR("translator"),
		.software = STR("sluice-translator " SLUICE_VERSION),
	};
	send_value(outflow, MESSAGE_HELLO, &hello);
}

static char *translate(struct filter *filter)
{
	engine_source_up(filter->engine);
	char *problem = read_source(filter);
	if (problem != NULL)
		return problem;
	engine_provider_up(filter->engine, &filter->provider);
	send_hello(&filter->up);
	send_hello(&filter->down);
	while (engine_work(filter->engine))
		;
	const char *missing = engine_missing(filter->engine);
	if (missing != NULL)
		return xasprintf("standard input ends before all is there: %s", missing);
	report_foreign(filter);
	report_differences(filter);
	outflow_write(&filter->down, 0);
	outflow_write(&filter->up, 0);
	return filter->config->explain != NULL ? write_explanation(filter) : NULL;
}

static char *confine(const struct translator_config *config)
{
	struct sandbox_outcome outcome = {0};
	return sandbox_enter(
		confine_translator(), (enum sandbox_mode)config->common.sandbox, &outcome);
}

static char *open_files(struct filter *filter)
{
	const struct translator_config *config = filter->config;
	int up = -1;
	filter->hello_fd = frame_stream_open_input(config->hello);
	if (filter->hello_fd < 0)
		return xasprintf("%s: %s", config->hello, strerrordesc_np(-filter->hello_fd));
	if (config->reports != NULL) {
		up = frame_stream_open_output(config->reports);
		if (up < 0)
			return xasprintf("%s: %s", config->reports, strerrordesc_np(-up));
	}
	outflow_init(&filter->up, up);
	outflow_init(&filter->down, config->explain != NULL ? -1 : STDOUT_FILENO);
	return confine(config);
}

static char *output_problem(const struct filter *filter)
{
	int err = filter->down.err != 0 ? filter->down.err : filter->up.err;
	if (err == 0)
		return NULL;
	return xasprintf("%s: %s",
		filter->down.err != 0 ? "standard output" : filter->config->reports,
		strerrordesc_np(-err));
}

static char *run(struct filter *filter, const struct engine_config *engine_config)
{
	char *problem = open_files(filter);
	if (problem != NULL)
		return problem;
	cert_setup();
	filter->engine = engine_new(engine_config, &engine_ops, filter);
	engine_set_time(filter->engine, clock_wall_s());
	problem = read_provider(filter);
	if (problem == NULL)
		problem = translate(filter);
	if (problem == NULL)
		problem = output_problem(filter);
	engine_free(filter->engine);
	outflow_fini(&filter->up);
	outflow_fini(&filter->down);
	return problem;
}

char *filter_run(const struct translator_config *config, bool *ret_usage)
{
	struct filter filter = {.config = config};
	struct engine_config engine_config = {0};
	char *problem = translator_config_check(config, &engine_config);
	arena_init(&filter.arena);
	arena_init(&filter.scratch);
	if (problem == NULL && config->hello == NULL)
		problem = xstrdup("--once needs --hello FILE, with the hello of a provider");
	if (problem == NULL)
		problem = read_explained(&filter);
	*ret_usage = problem != NULL;
	if (problem == NULL) {
		engine_config.takes_keyless = config->keyless_secrets;
		problem = run(&filter, &engine_config);
	}
	arena_fini(&filter.arena);
	arena_fini(&filter.scratch);
	egress_free(engine_config.egress);
	return problem;
}
