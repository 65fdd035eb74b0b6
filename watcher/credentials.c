// SPDX-License-Identifier: Apache-2.0
#include "watcher/credentials.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/command.h"
#include "common/must.h"
#include "common/pem_files.h"
#include "common/xalloc.h"
#include "watcher/exec_credential.h"
#include "watcher/log_events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const double REREAD_S = 60.0;
/* A plugin that fails is not run more often than this. */
static const double EXEC_PAUSE_S = 5.0;
/* Credentials must not expire while a request is in flight. */
static const double EXPIRY_MARGIN_S = 5.0;

struct credentials {
	struct credentials_config config;
	const struct target *target;
	struct secret token;
	double token_read_at;
	struct http_peer *peer;
	double peer_read_at;
	unsigned long generation;
	ev_io stdin_reader;
	struct buf stdin_text;
	bool stdin_pending;
	struct command *plugin; /* NULL: none runs */
	struct exec_credential given;
	bool has_given;
	double exec_ended_at;
	char problem[512];
};

[[gnu::format(printf, 2, 3)]] static void complain(struct credentials *c, const char *format, ...)
{
	char text[sizeof(c->problem)];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strcmp(text, c->problem) != 0)
		log_event(&EV_CREDENTIALS_PROBLEM, LOG_STR("reason", text));
	memcpy(c->problem, text, sizeof(text));
}

const char *credentials_problem(const struct credentials *c)
{
	return c->problem;
}

/* ---- TLS ---- */

/* Frees `problem`. True: there was none. */
static bool check(struct credentials *c, char *problem)
{
	bool is_good = problem == NULL;
	if (!is_good)
		complain(c, "%s", problem);
	free(problem);
	return is_good;
}

static bool load_ca(struct credentials *c, struct http_peer *peer)
{
	const struct target *target = c->target;
	if (target->ca_data != NULL) {
		peer->ca_data = xstrdup(target->ca_data);
		return true;
	}
	if (target->ca_file == NULL ||
		(target->ca_is_optional && access(target->ca_file, F_OK) != 0))
		return true;
	/* Passed as text, not as a path: libcurl caches a CA file for a day. */
	return check(c, pem_read_authorities(target->ca_file, &peer->ca_data));
}

static bool load_pair(struct credentials *c, struct http_peer *peer)
{
	const struct target *target = c->target;
	bool from_plugin = c->has_given && c->given.cert_data != NULL;
	const struct pem_pair pair = {
		.cert = from_plugin ? c->given.cert_data : target->cert_data,
		.cert_path = target->cert_file,
		.key = from_plugin ? c->given.key_data.text : target->key_data.text,
		.key_path = target->key_file,
	};
	char *key = NULL;
	if (pair.cert == NULL && pair.cert_path == NULL)
		return true;
	if (!check(c, pem_read_pair(&pair, &peer->cert_data, &key)))
		return false;
	int err = secret_set(&peer->key_data, str_from(key));
	pem_free(key);
	if (err != 0)
		complain(c, "the client key is too long");
	return err == 0;
}

static char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

/* Reads CA and client certificate, and uses them if complete and new. False: unreadable; the old ones stay. */
static bool load_peer(struct credentials *c)
{
	struct http_peer *fresh = http_peer_new();
	c->peer_read_at = clock_monotonic_s();
	fresh->server_name = copy_text(c->target->tls_server_name);
	fresh->proxy_url = copy_text(c->target->proxy_url);
	fresh->insecure = c->target->insecure;
	if (!load_ca(c, fresh) || !load_pair(c, fresh)) {
		http_peer_release(fresh);
		return false;
	}
	bool is_first = c->peer == NULL;
	if (!is_first && http_peer_is_same(c->peer, fresh)) {
		http_peer_release(fresh);
		return true;
	}
	http_peer_release(c->peer);
	c->peer = fresh;
	c->generation++;
	if (!is_first) {
		log_event(&EV_CREDENTIALS_REFRESHED, LOG_STR("what", "certificates"));
		c->config.on_peer_changed(c->config.ctx);
	}
	return true;
}

/* ---- tokens ---- */

/* A token goes into a header, so it must be a single word. */
static bool is_word(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] <= ' ' || text.p[i] >= 0x7f)
			return false;
	}
	return text.len != 0;
}

static bool take_token(struct credentials *c, struct secret *token, const char *from)
{
	if (!is_word((struct str){token->text, token->len})) {
		complain(c, "%s: the token is no single word", from);
		return false;
	}
	if (secret_eq(&c->token, token))
		return true;
	bool is_first = !secret_is_set(&c->token);
	(void)!secret_set(&c->token, (struct str){token->text, token->len});
	c->generation++;
	if (!is_first)
		log_event(&EV_CREDENTIALS_REFRESHED, LOG_STR("what", "token"));
	return true;
}

static bool load_token(struct credentials *c)
{
	struct secret token = {0};
	const char *path = c->target->token_file;
	c->token_read_at = clock_monotonic_s();
	if (path == NULL)
		return true;
	int err = secret_load_file(&token, path);
	if (err != 0)
		complain(c, "%s: %s", path, strerror(-err));
	bool ok = err == 0 && take_token(c, &token, path);
	secret_fini(&token);
	return ok;
}

static void end_stdin(struct credentials *c)
{
	struct secret token = {0};
	struct str text = str_trim(buf_str(&c->stdin_text));
	ev_io_stop(c->config.loop, &c->stdin_reader);
	c->stdin_pending = false;
	if (text.len == 0 || secret_set(&token, text) != 0)
		complain(c, "standard input: no token, or one that is too long");
	else
		(void)take_token(c, &token, "standard input");
	secret_fini(&token);
	buf_wipe_fini(&c->stdin_text);
	c->config.on_settled(c->config.ctx);
}

static void on_stdin(struct ev_loop *loop, ev_io *reader, int events)
{
	struct credentials *c = reader->data;
	uint8_t *room = buf_reserve(&c->stdin_text, 4096);
	ssize_t got = room != NULL ? read(STDIN_FILENO, room, 4096) : 0;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0)
		buf_commit(&c->stdin_text, (size_t)got);
	else
		end_stdin(c);
}

/* From the loop, because the writer may take its time, and a daemon must answer signals meanwhile. */
static void begin_stdin(struct credentials *c)
{
	c->stdin_pending = true;
	buf_init(&c->stdin_text, SECRET_LEN_MAX + 8192);
	ev_io_init(&c->stdin_reader, on_stdin, STDIN_FILENO, EV_READ);
	c->stdin_reader.data = c;
	ev_io_start(c->config.loop, &c->stdin_reader);
}

/* ---- exec plugins ---- */

static void take_given(struct credentials *c, struct exec_credential *given)
{
	bool is_first = !c->has_given;
	exec_credential_fini(&c->given);
	c->given = *given;
	c->has_given = true;
	c->problem[0] = '\0';
	c->generation++;
	if (c->given.cert_data != NULL)
		(void)load_peer(c);
	if (!is_first)
		log_event(&EV_CREDENTIALS_REFRESHED, LOG_STR("what", "exec plugin"));
}

/* Of shells, too. */
enum { EXIT_NOT_RUN = 127 };

/* What went wrong with the program itself, in words; NULL: nothing did. */
static const char *plugin_problem(
	const struct command *plugin, enum command_outcome outcome, char *room, size_t len)
{
	switch (outcome) {
	case COMMAND_SUCCEEDED:
		return command_is_cut(plugin) ? "prints too much" : NULL;
	case COMMAND_TIMEOUT:
		return "took too long";
	case COMMAND_KILLED:
		snprintf(room, len, "died of signal %d", command_exit_status(plugin));
		return room;
	case COMMAND_FAILED:
		if (command_exit_status(plugin) == EXIT_NOT_RUN)
			return "cannot be run (exit code 127)";
		snprintf(room, len, "ended with exit code %d", command_exit_status(plugin));
		return room;
	case COMMAND_UNSTARTED:
		break;
	}
	return "cannot be run";
}

static void on_plugin_done(void *ctx, enum command_outcome outcome, struct str output)
{
	struct credentials *c = ctx;
	struct exec_credential given = {0};
	const struct target_exec *exec = c->target->exec;
	char room[64];
	const char *problem = plugin_problem(c->plugin, outcome, room, sizeof(room));
	if (problem != NULL) {
		/* What it prints on standard error is for people. */
		struct str words =
			str_trim(outcome == COMMAND_UNSTARTED ? output : command_errors(c->plugin));
		complain(c, "exec plugin %s %s: %.*s%s%s", exec->command, problem,
			(int)(words.len < 200 ? words.len : 200), words.len != 0 ? words.p : "",
			exec->install_hint != NULL ? "; " : "",
			exec->install_hint != NULL ? exec->install_hint : "");
	} else {
		problem = exec_credential_parse(output, exec->api_version, &given);
		if (problem != NULL)
			complain(c, "exec plugin %s: %s", exec->command, problem);
		else
			take_given(c, &given);
	}
	c->plugin = NULL;
	c->exec_ended_at = clock_monotonic_s();
	c->config.on_settled(c->config.ctx);
}

static void run_plugin(struct credentials *c)
{
	const struct target_exec *exec = c->target->exec;
	if (c->plugin != NULL || (c->exec_ended_at > 0 && clock_monotonic_s() - c->exec_ended_at <
								  c->config.exec_pause_s))
		return;
	char **env = exec_credential_env(c->target, c->peer->ca_data);
	char **argv = xcalloc(exec->arg_count + 2, sizeof(*argv));
	argv[0] = exec->command;
	for (size_t i = 0; i < exec->arg_count; i++)
		argv[i + 1] = exec->args[i];
	c->plugin = command_start_call(&(struct command_call){
		.loop = c->config.loop,
		.argv = argv,
		.env = env,
		.timeout_s = c->config.exec_timeout_s,
		.output_max = EXEC_OUTPUT_MAX,
		.has_own_errors = true,
		.on_done = on_plugin_done,
		.ctx = c,
	});
	free(argv);
	free(env[0]);
	free(env);
}

static bool has_expired(const struct credentials *c)
{
	return c->given.expires_at > 0 &&
	       (double)clock_wall_s() >= c->given.expires_at - EXPIRY_MARGIN_S;
}

/* Other credentials take precedence over the plugin. */
static bool uses_plugin(const struct credentials *c)
{
	return c->target->exec != NULL && !secret_is_set(&c->token) &&
	       c->target->username == NULL && c->target->cert_data == NULL &&
	       c->target->cert_file == NULL;
}

/* ---- the state ---- */

/* Rereads what has not been read after `since`. */
static void refresh(struct credentials *c, double since)
{
	bool read_token = c->token_read_at <= since;
	bool read_peer = c->peer_read_at <= since;
	bool token_ok = !read_token || load_token(c);
	bool peer_ok = !read_peer || load_peer(c);
	if (token_ok && peer_ok && read_token && read_peer && c->target->exec == NULL &&
		!c->target->token_on_stdin)
		c->problem[0] = '\0';
}

enum credentials_state credentials_get(struct credentials *c, struct credentials_view *ret_view)
{
	if (c->stdin_pending)
		return CREDENTIALS_PENDING;
	refresh(c, clock_monotonic_s() - REREAD_S);
	bool by_plugin = uses_plugin(c);
	if (by_plugin && (!c->has_given || has_expired(c)))
		run_plugin(c);
	if (c->plugin != NULL)
		return CREDENTIALS_PENDING;
	if (by_plugin && (!c->has_given || has_expired(c)))
		return CREDENTIALS_MISSING;
	bool needs_token = c->target->token_on_stdin || c->target->token_file != NULL;
	if (needs_token && !secret_is_set(&c->token))
		return CREDENTIALS_MISSING;
	const struct secret *bearer = by_plugin ? &c->given.token : &c->token;
	*ret_view = (struct credentials_view){
		.bearer = secret_is_set(bearer) ? bearer : NULL,
		.username = c->target->username,
		.password = &c->target->password,
		.peer = c->peer,
		.generation = c->generation,
		.taken_at = clock_monotonic_s(),
	};
	return CREDENTIALS_READY;
}

bool credentials_refused(struct credentials *c, unsigned long generation, double taken_at)
{
	if (generation != c->generation || c->plugin != NULL)
		return true;
	refresh(c, taken_at);
	if (generation != c->generation)
		return true;
	if (!uses_plugin(c))
		return false;
	run_plugin(c);
	return c->plugin != NULL;
}

/*
 * The token in the file that is named, or else the one given in the kubeconfig: as in client-go also until the file can be read, but not in place of
 * one that was read from it before.
 */
static bool load_named_token(struct credentials *c, bool has_former)
{
	const struct secret *given = &c->target->token;
	bool has_file = c->target->token_file != NULL;
	if (has_file && load_token(c))
		return true;
	if (secret_is_set(given) && !(has_file && has_former))
		(void)!secret_set(&c->token, (struct str){given->text, given->len});
	return !has_file || secret_is_set(&c->token);
}

bool credentials_retarget(struct credentials *c)
{
	struct secret old = c->token;
	bool was_pending = c->plugin != NULL;
	command_cancel(c->plugin);
	c->plugin = NULL;
	c->exec_ended_at = 0;
	c->token = (struct secret){0};
	if (c->target->exec == NULL) {
		exec_credential_fini(&c->given);
		c->has_given = false;
	}
	bool is_good = load_named_token(c, secret_is_set(&old)) && load_peer(c);
	if (!is_good) {
		secret_fini(&c->token);
		c->token = old;
	} else {
		if (secret_is_set(&c->token) && !secret_eq(&c->token, &old))
			log_event(&EV_CREDENTIALS_REFRESHED, LOG_STR("what", "token"));
		secret_fini(&old);
		c->generation++;
	}
	if (was_pending)
		c->config.on_settled(c->config.ctx);
	return is_good;
}

void credentials_reload(struct credentials *c)
{
	/* On request, a problem is reported again. */
	c->problem[0] = '\0';
	refresh(c, clock_monotonic_s());
	if (uses_plugin(c))
		run_plugin(c);
}

struct credentials *credentials_new(const struct credentials_config *config, char **ret_problem)
{
	struct credentials *c = xcalloc(1, sizeof(*c));
	c->config = *config;
	c->target = config->target;
	if (c->config.exec_pause_s <= 0)
		c->config.exec_pause_s = EXEC_PAUSE_S;
	if (!load_peer(c) || !load_named_token(c, false)) {
		*ret_problem = xstrdup(c->problem);
		credentials_free(c);
		return NULL;
	}
	if (c->target->token_on_stdin)
		begin_stdin(c);
	return c;
}

void credentials_free(struct credentials *c)
{
	if (c == NULL)
		return;
	if (c->stdin_pending)
		ev_io_stop(c->config.loop, &c->stdin_reader);
	buf_wipe_fini(&c->stdin_text);
	command_cancel(c->plugin);
	exec_credential_fini(&c->given);
	secret_fini(&c->token);
	http_peer_release(c->peer);
	free(c);
}
