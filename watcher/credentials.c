// SPDX-License-Identifier: Apache-2.0
#include "watcher/credentials.h"

#include "common/buf.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "watcher/exec_credential.h"
#include "watcher/exec_plugin.h"
#include "watcher/log_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { PEM_LEN_MAX = 4 * 1024 * 1024 };
static const double REREAD_S = 60.0;
/* After a 401 files are read again at once, but not by every request that met the same 401. */
static const double REREAD_MIN_S = 1.0; /* unless configured otherwise */
/* A plugin that gives nothing good is not run more often than this. */
static const double EXEC_PAUSE_S = 5.0;
/* What expires while a request is on its way is no use. */
static const double EXPIRY_MARGIN_S = 5.0;

struct credentials_peer {
	struct http_peer peer;
	unsigned refs;
};

struct credentials {
	struct credentials_config config;
	const struct target *target;
	struct secret token;
	double token_read_at;
	struct credentials_peer *peer;
	double peer_read_at;
	unsigned long generation;
	ev_io stdin_reader;
	struct buf stdin_text;
	bool stdin_pending;
	struct exec_plugin *plugin; /* NULL: none runs */
	struct exec_credential given;
	bool has_given;
	double exec_ended_at;
	char problem[512];
};

static double now_of(const struct credentials *c)
{
	return ev_now(c->config.loop);
}

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

const struct http_peer *credentials_peer_hold(struct credentials_peer *peer)
{
	peer->refs++;
	return &peer->peer;
}

void credentials_peer_release(struct credentials_peer *peer)
{
	if (peer == NULL || --peer->refs != 0)
		return;
	http_peer_fini(&peer->peer);
	free(peer);
}

/* A whole PEM file as text; NULL and errno. */
static char *read_pem(const char *path)
{
	struct buf content;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t got = 0;
	int err = 0;
	buf_init(&content, PEM_LEN_MAX);
	do {
		uint8_t *room = buf_reserve(&content, 8192);
		got = room != NULL ? read(fd, room, 8192) : -1;
		err = room == NULL ? EFBIG : errno;
		if (got > 0)
			buf_commit(&content, (size_t)got);
	} while (got > 0 || (got < 0 && err == EINTR));
	close(fd);
	char *text = got == 0 && buf_len(&content) != 0 ? str_dup(buf_str(&content)) : NULL;
	buf_wipe_fini(&content);
	errno = got < 0 ? err : ENODATA;
	return text;
}

static void free_text(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static bool load_ca(struct credentials *c, struct http_peer *peer)
{
	const struct target *target = c->target;
	if (target->ca_data != NULL) {
		peer->ca_data = xstrdup(target->ca_data);
		return true;
	}
	if (target->ca_file == NULL)
		return true;
	/* As text and not as a path: libcurl keeps what it once read of a CA file for a day. */
	peer->ca_data = read_pem(target->ca_file);
	if (peer->ca_data != NULL || target->ca_is_optional)
		return true;
	complain(c, "%s: %s", target->ca_file, strerror(errno));
	return false;
}

static bool load_pair(struct credentials *c, struct http_peer *peer)
{
	const struct target *target = c->target;
	bool from_plugin = c->has_given && c->given.cert_data != NULL;
	const char *key_data = from_plugin ? c->given.key_data.text : target->key_data.text;
	char *cert = NULL;
	char *key = NULL;
	if (from_plugin)
		cert = xstrdup(c->given.cert_data);
	else if (target->cert_data != NULL)
		cert = xstrdup(target->cert_data);
	else if (target->cert_file != NULL)
		cert = read_pem(target->cert_file);
	else
		return true;
	if (cert != NULL)
		key = key_data != NULL ? xstrdup(key_data) : read_pem(target->key_file);
	if (cert == NULL || key == NULL) {
		complain(c, "%s: %s", cert == NULL ? target->cert_file : target->key_file,
			strerror(errno));
		free(cert);
		return false;
	}
	peer->cert_data = cert;
	int err = secret_set(&peer->key_data, str_from(key));
	free_text(key);
	if (err != 0)
		complain(c, "the client key is too long");
	return err == 0;
}

static bool same_text(const char *a, const char *b)
{
	return str_eq(str_from(a), str_from(b));
}

static char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

/* Reads CA and client certificate; takes them if they are whole and new. False: something cannot be read, the old ones stay. */
static bool load_peer(struct credentials *c)
{
	struct credentials_peer *fresh = xcalloc(1, sizeof(*fresh));
	struct http_peer *peer = &fresh->peer;
	fresh->refs = 1;
	c->peer_read_at = now_of(c);
	peer->server_name = copy_text(c->target->tls_server_name);
	peer->proxy_url = copy_text(c->target->proxy_url);
	peer->insecure = c->target->insecure;
	if (!load_ca(c, peer) || !load_pair(c, peer)) {
		credentials_peer_release(fresh);
		return false;
	}
	const struct http_peer *old = c->peer != NULL ? &c->peer->peer : NULL;
	if (old != NULL && same_text(old->ca_data, peer->ca_data) &&
		same_text(old->cert_data, peer->cert_data) &&
		secret_eq(&old->key_data, &peer->key_data)) {
		credentials_peer_release(fresh);
		return true;
	}
	credentials_peer_release(c->peer);
	c->peer = fresh;
	c->generation++;
	if (old != NULL) {
		log_event(&EV_CREDENTIALS_REFRESHED, LOG_STR("what", "certificates"));
		c->config.on_peer_changed(c->config.ctx);
	}
	return true;
}

/* ---- tokens ---- */

/* A token goes into a header: one word, or it is none. */
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
	c->token_read_at = now_of(c);
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
	struct str text = buf_str(&c->stdin_text);
	ev_io_stop(c->config.loop, &c->stdin_reader);
	c->stdin_pending = false;
	while (text.len != 0 && strchr(" \t\r\n", text.p[text.len - 1]) != NULL)
		text.len--;
	while (text.len != 0 && strchr(" \t\r\n", text.p[0]) != NULL)
		text = str_skip(text, 1);
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
	(void)loop;
	(void)events;
	uint8_t *room = buf_reserve(&c->stdin_text, 4096);
	ssize_t got = room != NULL ? read(STDIN_FILENO, room, 4096) : 0;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0)
		buf_commit(&c->stdin_text, (size_t)got);
	else
		end_stdin(c);
}

/* From the loop, because whoever holds the other end may take its time, and a daemon answers signals meanwhile. */
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

static void on_plugin_done(void *ctx, const char *problem, struct str output)
{
	struct credentials *c = ctx;
	struct exec_credential given = {0};
	const char *command = c->target->exec->command;
	c->plugin = NULL;
	c->exec_ended_at = now_of(c);
	if (problem != NULL) {
		/* What it prints on standard error is for people. */
		complain(c, "exec plugin %s %s: %.*s%s%s", command, problem,
			(int)(output.len < 200 ? output.len : 200), output.p,
			c->target->exec->install_hint != NULL ? "; " : "",
			c->target->exec->install_hint != NULL ? c->target->exec->install_hint : "");
	} else {
		problem = exec_credential_parse(output, c->target->exec->api_version, &given);
		if (problem != NULL)
			complain(c, "exec plugin %s: %s", command, problem);
		else
			take_given(c, &given);
	}
	c->config.on_settled(c->config.ctx);
}

static void run_plugin(struct credentials *c)
{
	const struct target_exec *exec = c->target->exec;
	int err = 0;
	if (c->plugin != NULL ||
		(c->exec_ended_at > 0 && now_of(c) - c->exec_ended_at < c->config.exec_pause_s))
		return;
	char *info = exec_credential_info(c->target, c->peer->peer.ca_data);
	c->plugin = exec_plugin_start(
		&(struct exec_plugin_call){
			.loop = c->config.loop,
			.command = exec->command,
			.args = exec->args,
			.arg_count = exec->arg_count,
			.env = exec->env,
			.env_count = exec->env_count,
			.info = info,
			.timeout_s = c->config.exec_timeout_s,
			.output_max = EXEC_OUTPUT_MAX,
			.on_done = on_plugin_done,
			.ctx = c,
		},
		&err);
	free(info);
	if (c->plugin == NULL) {
		c->exec_ended_at = now_of(c);
		complain(c, "exec plugin %s: %s%s%s", exec->command, strerror(-err),
			exec->install_hint != NULL ? "; " : "",
			exec->install_hint != NULL ? exec->install_hint : "");
	}
}

static bool has_expired(const struct credentials *c)
{
	return c->given.expires_at > 0 && ev_time() >= c->given.expires_at - EXPIRY_MARGIN_S;
}

/* Credentials of other kinds make the plugin superfluous. */
static bool uses_plugin(const struct credentials *c)
{
	return c->target->exec != NULL && !secret_is_set(&c->token) &&
	       c->target->username == NULL && c->target->cert_data == NULL &&
	       c->target->cert_file == NULL;
}

/* ---- the state ---- */

static void refresh(struct credentials *c, double older_than_s)
{
	double now = now_of(c);
	bool read_token = now - c->token_read_at >= older_than_s;
	bool read_peer = now - c->peer_read_at >= older_than_s;
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
	refresh(c, REREAD_S);
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
	};
	return CREDENTIALS_READY;
}

bool credentials_refused(struct credentials *c, unsigned long generation)
{
	if (generation != c->generation || c->plugin != NULL)
		return true;
	refresh(c, c->config.reread_min_s);
	if (generation != c->generation)
		return true;
	if (!uses_plugin(c))
		return false;
	run_plugin(c);
	return c->plugin != NULL;
}

void credentials_reload(struct credentials *c)
{
	refresh(c, 0);
	if (uses_plugin(c))
		run_plugin(c);
}

struct credentials *credentials_new(const struct credentials_config *config, char **ret_problem)
{
	struct credentials *c = xcalloc(1, sizeof(*c));
	c->config = *config;
	c->target = config->target;
	if (c->config.reread_min_s <= 0)
		c->config.reread_min_s = REREAD_MIN_S;
	if (c->config.exec_pause_s <= 0)
		c->config.exec_pause_s = EXEC_PAUSE_S;
	if (secret_is_set(&c->target->token))
		(void)!secret_set(
			&c->token, (struct str){c->target->token.text, c->target->token.len});
	/* A token that stands in the kubeconfig serves until its file can be read. */
	if (!load_peer(c) || (!load_token(c) && !secret_is_set(&c->token))) {
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
	exec_plugin_cancel(c->plugin);
	exec_credential_fini(&c->given);
	secret_fini(&c->token);
	credentials_peer_release(c->peer);
	free(c);
}
