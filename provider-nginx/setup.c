// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/setup.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "common/files.h"
#include "provider-proxy/checksum.h"
#include "provider-proxy/metrics.h"
#include "provider-proxy/pace.h"
#include "provider-nginx/bisect.h"
#include "provider-nginx/log_events.h"
#include "provider-nginx/folders.h"

#include <errno.h>
#include <stdio.h>

enum setup_state { SETUP_IDLE, SETUP_TESTING, SETUP_RELOADING };
enum { MODE = 0600 };
static const double poll_s = 0.05;
static const double reload_max_s = 60;

struct setup {
	struct ev_loop *loop;
	struct notices *notices;
	const struct setup_ops *ops;
	void *ctx;
	char *file;
	char *candidate_file;
	struct pace pace;
	enum setup_state state;
	ev_timer later; /* until the next try or request */
	struct backoff backoff;
	const struct conf *conf;
	struct bisect *bisect;
	bool *is_out; /* pieces left out of the candidate; NULL: none */
	struct buf candidate;
	uint64_t candidate_generation;
	struct buf installed; /* content of the file, accepted by nginx */
	bool has_file;        /* nginx can start with the file */
	uint64_t running;     /* generation reported by nginx; 0: unknown */
	ev_tstamp reloaded_at;
	bool is_touched;
	bool is_settled;
	char *trouble;
	char refusal[512]; /* nginx's own message */
};

static void work(struct setup *setup);

static void set_trouble(struct setup *setup, const char *words)
{
	bool is_same = (words == NULL) == (setup->trouble == NULL) &&
		       (words == NULL || strcmp(words, setup->trouble) == 0);
	if (is_same)
		return;
	char *copy = words != NULL ? xstrdup(words) : NULL;
	free(setup->trouble);
	setup->trouble = copy;
	setup->ops->on_change(setup->ctx);
}

static void wait_for(struct setup *setup, double seconds)
{
	ev_timer_stop(setup->loop, &setup->later);
	ev_timer_set(&setup->later, seconds, 0.);
	ev_timer_start(setup->loop, &setup->later);
}

static void end_round(struct setup *setup)
{
	bisect_free(setup->bisect);
	setup->bisect = NULL;
	free(setup->is_out);
	setup->is_out = NULL;
	setup->conf = NULL;
	setup->state = SETUP_IDLE;
}

/* This round has failed; another one follows. */
static void give_up(struct setup *setup, const char *words)
{
	end_round(setup);
	setup->is_touched = true;
	metric_add(&proxy_metrics[PROXY_RELOADS], 1, 1);
	log_event(&EV_CONFIGURATION_FAILED, LOG_STR("reason", words));
	set_trouble(setup, words);
	wait_for(setup, backoff_next(&setup->backoff));
}

static void finish(struct setup *setup)
{
	end_round(setup);
	backoff_succeeded(&setup->backoff);
	setup->is_settled = !setup->is_touched;
	set_trouble(setup, NULL);
	setup->ops->on_change(setup->ctx);
	work(setup);
}

/* ---- refused pieces ---- */

static void tell_refused(struct setup *setup, size_t piece)
{
	const struct ports *ports = setup->conf->ports;
	char key[32];
	char message[800];
	struct notice_owner owner;
	snprintf(key, sizeof(key), "%zu", piece);
	if (piece < ports->count) {
		const struct port *port = &ports->items[piece];
		owner = notice_of_service(port->load_balancer_id, port->service);
		snprintf(message, sizeof(message),
			"port %u is left out, because nginx refuses it: %s", port->port,
			setup->refusal);
	} else {
		const struct conf_pass *pass = &setup->conf->passes[piece - ports->count];
		owner = notice_of_ingress(pass->load_balancer_id, pass->ingress);
		snprintf(message, sizeof(message),
			"TLS of host %.*s is not passed through, because nginx refuses it: %s",
			STR_FMT(pass->host), setup->refusal);
	}
	notices_set(setup->notices, "refused", str_from(key), &owner, "ConfigurationRefused",
		str_from(message));
	log_event(&EV_PIECE_REFUSED, LOG_TEXT("owner", owner.name),
		LOG_STR("reason", setup->refusal));
}

static void tell_all_refused(struct setup *setup)
{
	notices_clear_all(setup->notices, "refused", STR(""));
	size_t count = conf_piece_count(setup->conf);
	for (size_t i = 0; setup->is_out != NULL && i < count; i++) {
		if (setup->is_out[i])
			tell_refused(setup, i);
	}
}

/* The first error line of nginx's output, without time stamp, process and our paths, so that it is always the same. */
static void keep_refusal(struct setup *setup, struct str output)
{
	struct str line = output;
	static const char mark[] = "[emerg] ";
	const char *at = memmem(output.p, output.len, mark, sizeof(mark) - 1);
	if (at != NULL)
		line = str_skip(output, (size_t)(at - output.p) + sizeof(mark) - 1);
	static const char process_end[] = ": ";
	const char *process = memmem(line.p, line.len < 24 ? line.len : 24, process_end, 2);
	if (at != NULL && process != NULL &&
		memchr(line.p, '#', (size_t)(process - line.p)) != NULL)
		line = str_skip(line, (size_t)(process - line.p) + 2);
	const char *end = str_find(line, '\n');
	if (end != NULL)
		line.len = (size_t)(end - line.p);
	static const char place[] = " in /";
	const char *in = memmem(line.p, line.len, place, sizeof(place) - 1);
	if (in != NULL)
		line.len = (size_t)(in - line.p);
	char *text = str_dup_utf8(line);
	snprintf(setup->refusal, sizeof(setup->refusal), "%.400s", text);
	free(text);
}

/* ---- testing ---- */

static void on_tested(void *ctx, enum command_outcome outcome, struct str output);

static void test(struct setup *setup)
{
	buf_clear(&setup->candidate);
	int err = conf_render(
		setup->conf, setup->is_out, &setup->candidate, &setup->candidate_generation);
	if (err == 0)
		err = files_write_loose(setup->candidate_file, buf_str(&setup->candidate), MODE);
	if (err != 0) {
		char words[256];
		snprintf(words, sizeof(words), "the configuration of nginx cannot be written: %s",
			files_problem(err));
		give_up(setup, words);
		return;
	}
	setup->state = SETUP_TESTING;
	setup->ops->check(setup->ctx, on_tested, setup);
}

/* Tries the next halves; false: finished, and is_out tells what is left out. */
static bool test_next(struct setup *setup)
{
	const bool *is_out = bisect_next(setup->bisect);
	size_t count = conf_piece_count(setup->conf);
	bool is_over = is_out == NULL;
	if (is_over)
		is_out = bisect_result(setup->bisect);
	free(setup->is_out);
	setup->is_out = is_out != NULL ? xcalloc(count + 1, sizeof(bool)) : NULL;
	if (is_out != NULL)
		memcpy(setup->is_out, is_out, count * sizeof(bool));
	return !is_over;
}

static void begin_bisection(struct setup *setup)
{
	size_t count = conf_piece_count(setup->conf);
	bool *may_go = xcalloc(count + 1, sizeof(bool));
	for (size_t i = 0; i < count; i++)
		may_go[i] = conf_piece_is_owned(setup->conf, i);
	setup->bisect = bisect_new(count, may_go);
	free(may_go);
	metric_add(&proxy_metrics[PROXY_RELOADS], 2, 1);
	log_event(&EV_CONFIGURATION_REFUSED, LOG_STR("reason", setup->refusal));
}

static void install(struct setup *setup);

static void on_tested(void *ctx, enum command_outcome outcome, struct str output)
{
	struct setup *setup = ctx;
	char words[700];
	if (outcome == COMMAND_SUCCEEDED && setup->bisect == NULL) {
		install(setup);
		return;
	}
	if (outcome == COMMAND_TIMEOUT || outcome == COMMAND_UNSTARTED ||
		outcome == COMMAND_KILLED) {
		keep_refusal(setup, output);
		snprintf(words, sizeof(words), "nginx cannot check its configuration: %s",
			outcome == COMMAND_TIMEOUT ? "it takes too long" : setup->refusal);
		give_up(setup, words);
		return;
	}
	if (outcome == COMMAND_FAILED)
		keep_refusal(setup, output);
	if (setup->bisect == NULL)
		begin_bisection(setup);
	else
		bisect_told(setup->bisect, outcome == COMMAND_SUCCEEDED);
	if (test_next(setup)) {
		test(setup);
		return;
	}
	bool is_hopeless = setup->is_out == NULL;
	if (is_hopeless) {
		snprintf(words, sizeof(words), "nginx refuses the configuration: %s",
			setup->refusal);
		give_up(setup, words);
		return;
	}
	/* The rest is tested once more as a whole. */
	bisect_free(setup->bisect);
	setup->bisect = NULL;
	test(setup);
}

/* ---- installing ---- */

static void install(struct setup *setup)
{
	int err = checksum_write(setup->file, buf_str(&setup->candidate), MODE);
	if (err != 0) {
		char words[256];
		snprintf(words, sizeof(words), "the configuration of nginx cannot be stored: %s",
			files_problem(err));
		give_up(setup, words);
		return;
	}
	setup->has_file = true;
	tell_all_refused(setup);
	setup->state = SETUP_RELOADING;
	setup->reloaded_at = clock_monotonic_s();
	pace_step(&setup->pace, setup->reloaded_at);
	log_event(&EV_CONFIGURATION_INSTALLED);
	if (!setup->ops->reload(setup->ctx)) {
		setup->state = SETUP_IDLE;
		give_up(setup, "nginx does not run");
		return;
	}
	wait_for(setup, poll_s);
}

/* The new configuration did not take effect: the old one is restored for the next start. */
static void take_back(struct setup *setup)
{
	char words[1024];
	const char *last = setup->ops->last_output(setup->ctx);
	snprintf(words, sizeof(words), "nginx does not take the new configuration: %s", last);
	if (buf_len(&setup->installed) != 0 &&
		checksum_write(setup->file, buf_str(&setup->installed), MODE) == 0)
		log_event(&EV_CONFIGURATION_TAKEN_BACK);
	give_up(setup, words);
}

/* nginx runs the candidate. */
static void keep_installed(struct setup *setup)
{
	buf_clear(&setup->installed);
	if (buf_append_str(&setup->installed, buf_str(&setup->candidate)) != 0)
		buf_clear(&setup->installed);
}

void setup_told(struct setup *setup, uint64_t generation)
{
	setup->running = generation;
	if (setup->state != SETUP_RELOADING) {
		work(setup);
		return;
	}
	if (generation == setup->candidate_generation) {
		keep_installed(setup);
		metric_add(&proxy_metrics[PROXY_RELOADS], 0, 1);
		log_event(&EV_RELOADED);
		finish(setup);
	} else {
		wait_for(setup, poll_s);
	}
}

void setup_nginx_down(struct setup *setup)
{
	setup->running = 0;
	setup_touch(setup);
	if (setup->state != SETUP_RELOADING)
		return;
	/* The new configuration may be what it cannot start with, such as a port that is taken: check again. */
	char words[1024];
	const char *last = setup->ops->last_output(setup->ctx);
	snprintf(words, sizeof(words), "nginx ended when it got the new configuration: %s", last);
	give_up(setup, words);
}

/* ---- rounds ---- */

static void begin_round(struct setup *setup)
{
	uint64_t generation = 0;
	setup->conf = setup->ops->collect(setup->ctx);
	if (setup->conf == NULL)
		return;
	setup->is_touched = false;
	buf_clear(&setup->candidate);
	int err = conf_render(setup->conf, NULL, &setup->candidate, &generation);
	if (err == 0 && generation == setup->running && setup->has_file) {
		/* It may have died while loading it, and restarted with it. */
		keep_installed(setup);
		tell_all_refused(setup);
		finish(setup);
		return;
	}
	setup->is_settled = false;
	test(setup);
}

static void work(struct setup *setup)
{
	if (setup->state != SETUP_IDLE || !setup->is_touched || ev_is_active(&setup->later))
		return;
	double wait_s = pace_wait_s(&setup->pace, clock_monotonic_s());
	if (wait_s > 0)
		wait_for(setup, wait_s + 0.001);
	else
		begin_round(setup);
}

static void on_later(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct setup *setup = watcher->data;
	if (setup->state == SETUP_RELOADING &&
		clock_monotonic_s() - setup->reloaded_at > reload_max_s) {
		take_back(setup);
	} else if (setup->state == SETUP_RELOADING) {
		wait_for(setup, poll_s * 20);
		setup->ops->ask(setup->ctx);
	} else {
		work(setup);
	}
}

void setup_touch(struct setup *setup)
{
	setup->is_touched = true;
	setup->is_settled = false;
	work(setup);
}

bool setup_is_settled(const struct setup *setup)
{
	return setup->is_settled;
}

const char *setup_trouble(const struct setup *setup)
{
	return setup->trouble;
}

bool setup_has_file(const struct setup *setup)
{
	return setup->has_file;
}

bool setup_repair(struct setup *setup)
{
	struct buf text;
	buf_init(&text, CONF_LEN_MAX);
	const char *problem = checksum_read(setup->file, &text);
	buf_fini(&text);
	if (problem == NULL)
		return true;
	bool is_known = buf_len(&setup->installed) != 0;
	if (setup->has_file)
		folders_tell_damage(setup->file, problem);
	setup->has_file =
		is_known && checksum_write(setup->file, buf_str(&setup->installed), MODE) == 0;
	return setup->has_file;
}

struct str setup_candidate(const struct setup *setup)
{
	return buf_str(&setup->candidate);
}

struct str setup_file(const struct setup *setup)
{
	return buf_str(&setup->installed);
}

struct setup *setup_new(const struct setup_config *config)
{
	struct setup *setup = xcalloc(1, sizeof(*setup));
	setup->loop = config->loop;
	setup->notices = config->notices;
	setup->ops = config->ops;
	setup->ctx = config->ctx;
	setup->file = xasprintf("%s/nginx.conf", config->state_dir);
	setup->candidate_file = xasprintf("%s/nginx.conf.candidate", config->state_dir);
	pace_init(&setup->pace, config->interval_s[0], config->interval_s[1]);
	backoff_init(&setup->backoff, 1, 30);
	buf_init(&setup->candidate, CONF_LEN_MAX);
	buf_init(&setup->installed, CONF_LEN_MAX);
	const char *problem = checksum_read(setup->file, &setup->installed);
	setup->has_file = problem == NULL;
	/* There was a configuration if there is a state file. */
	char *state_file = xasprintf("%s/state", config->state_dir);
	if (problem != NULL && (files_exist(setup->file) || files_exist(state_file)))
		folders_tell_damage(setup->file, problem);
	/* So that nobody starts nginx with it. */
	if (problem != NULL)
		(void)files_remove(setup->file);
	free(state_file);
	ev_init(&setup->later, on_later);
	setup->later.data = setup;
	return setup;
}

void setup_free(struct setup *setup)
{
	if (setup == NULL)
		return;
	ev_timer_stop(setup->loop, &setup->later);
	end_round(setup);
	buf_fini(&setup->candidate);
	buf_fini(&setup->installed);
	free(setup->file);
	free(setup->candidate_file);
	free(setup->trouble);
	free(setup);
}
