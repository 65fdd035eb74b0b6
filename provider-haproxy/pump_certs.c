// SPDX-License-Identifier: Apache-2.0
/*
 * Commands for certificates that differ: content, list entry, removal, one certificate at a time; and the responses to them.
 */
#include "provider-haproxy/pump_certs.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/pump_send.h"

#include <stdio.h>

enum what {
	WHAT_NEW,
	WHAT_SET,
	WHAT_COMMIT,
	WHAT_ADDED, /* the last one for a certificate */
	WHAT_REMOVE,
	WHAT_REMOVED,
	WHAT_IGNORED,
};

static cli_reply on_reply;

#define SEND(engine, what, ...) pump_send_text((engine), on_reply, (what), __VA_ARGS__)

/* HAProxy 2.6 leaks about 33 kB for each certificate added and deleted at run time (16 MB for this many). */
enum { REMOVED_MAX = 500 };
/* If certificates are added and deleted without end, this limits reloads: each may leave a process with long connections. */
static const double renew_every_s = 60;

struct pump_certs {
	struct cert *sending; /* in flight on the connection with this number */
	unsigned connection;
	uint64_t digest; /* of the content being sent; 0: being removed */
	char *problem;   /* HAProxy's error message */
	size_t removed;  /* by this worker, which leaks a little each time */
	long worker;
	double renewed; /* the last reload for this reason */
};

/* NULL: none. When the connection is lost nothing is in flight any more. */
static struct cert *sending(const struct engine *engine)
{
	const struct pump_certs *certs = engine->pump_certs;
	return certs->connection == connection_number(engine->connection) ? certs->sending : NULL;
}

bool pump_certs_are_sending(const struct engine *engine)
{
	return sending(engine) != NULL;
}

static void begin_sending(struct engine *engine, struct cert *cert, uint64_t digest)
{
	struct pump_certs *certs = engine->pump_certs;
	certs->sending = cert;
	certs->connection = connection_number(engine->connection);
	certs->digest = digest;
	free(certs->problem);
	certs->problem = NULL;
}

static void count_removed(struct engine *engine, size_t count)
{
	struct pump_certs *certs = engine->pump_certs;
	long worker = connection_worker(engine->connection);
	if (certs->worker != worker)
		certs->removed = 0;
	certs->worker = worker;
	certs->removed += count;
}

void pump_certs_renew(struct engine *engine)
{
	struct pump_certs *certs = engine->pump_certs;
	double now = clock_monotonic_s();
	count_removed(engine, 0);
	if (certs->removed < REMOVED_MAX || now - certs->renewed < renew_every_s)
		return;
	log_event(&EV_CERTIFICATES_RETIRED, LOG_INT("removed", (int64_t)certs->removed));
	certs->renewed = now;
	engine->is_reload_forced = true;
}

static void send_content(
	struct engine *engine, const struct cert *cert, const char *path, const struct buf *content)
{
	char line[512];
	if (cert->has == 0)
		SEND(engine, WHAT_NEW, "new ssl cert %s", path);
	snprintf(line, sizeof(line), "set ssl cert %s", path);
	cli_send(connection_cli(engine->connection), str_from(line), buf_str(content), WHAT_SET,
		on_reply, engine);
	SEND(engine, cert->is_listed ? WHAT_ADDED : WHAT_COMMIT, "commit ssl cert %s", path);
}

static void send_listing(struct engine *engine, const struct cert *cert, const char *path)
{
	char line[512];
	char *options = certs_options(&engine->certs, cert);
	char *payload = xasprintf("%s%s%s\n", path, options, cert->hosts);
	free(options);
	snprintf(line, sizeof(line), "add ssl crt-list %s/list.txt", engine->certs.dir);
	cli_send(connection_cli(engine->connection), str_from(line), str_from(payload), WHAT_ADDED,
		on_reply, engine);
	free(payload);
}

static void load_by_reload(struct engine *engine, struct cert *cert)
{
	int err = certs_write_file(&engine->certs, cert);
	if (err != 0) {
		disk_failed(engine->disk, err, "a certificate");
		return;
	}
	cert->has = cert->wanted;
	cert->is_listed = true;
	cert->is_awaited = true;
	engine->is_reload_forced = true;
	disk_want_flush(engine->disk);
	certs_settle(&engine->certs, cert);
}

static void send_cert(struct engine *engine, struct cert *cert)
{
	struct buf content;
	char *path = certs_path(&engine->certs, cert->file.text);
	buf_init(&content, PEM_LEN_MAX);
	if (certs_content(&engine->certs, cert, &content) != 0) {
		certs_refuse(&engine->certs, cert, "it is not PEM");
	} else if (buf_len(&content) + strlen(path) + 64 > CLI_LINE_LEN_MAX ||
		   (cert->asks && !cert->is_listed)) {
		/* With a reload all sessions end in which clients have not been asked for a certificate. */
		load_by_reload(engine, cert);
	} else {
		bool is_sent = cert->has != cert->wanted;
		begin_sending(engine, cert, cert->wanted);
		if (is_sent)
			send_content(engine, cert, path, &content);
		if (!cert->is_listed)
			send_listing(engine, cert, path);
		else if (!is_sent)
			/* Only the file is missing. */
			SEND(engine, WHAT_ADDED, "show ssl cert %s", path);
		cert->has = cert->has == 0 ? 1 : cert->has;
	}
	buf_wipe_fini(&content);
	free(path);
}

static void remove_cert(struct engine *engine, struct cert *cert)
{
	char *path = certs_path(&engine->certs, cert->file.text);
	begin_sending(engine, cert, 0);
	if (cert->is_listed)
		SEND(engine, WHAT_REMOVE, "del ssl crt-list %s/list.txt %s", engine->certs.dir,
			path);
	SEND(engine, WHAT_REMOVED, "del ssl cert %s", path);
	free(path);
}

void pump_certs_run(struct engine *engine)
{
	struct cert *cert = certs_first_dirty(&engine->certs);
	/* HAProxy has one transaction for all: one at a time. */
	if (cert == NULL || sending(engine) != NULL ||
		!cli_has_room(connection_cli(engine->connection)))
		return;
	if (cert->wanted != 0)
		send_cert(engine, cert);
	else
		remove_cert(engine, cert);
}

static void note_problem(struct engine *engine, struct str reply)
{
	if (engine->pump_certs->problem == NULL)
		engine->pump_certs->problem = str_dup_utf8(reply);
}

static void finish_refused(struct engine *engine, struct cert *cert)
{
	char *path = certs_path(&engine->certs, cert->file.text);
	log_event(&EV_CERTIFICATE_REFUSED, LOG_STR("secret", cert->owner),
		LOG_STR("reason", engine->pump_certs->problem));
	SEND(engine, WHAT_IGNORED, "abort ssl cert %s", path);
	if (!cert->is_listed) {
		SEND(engine, WHAT_IGNORED, "del ssl cert %s", path);
		cert->has = 0;
	}
	free(path);
	if (cert->wanted == engine->pump_certs->digest)
		certs_refuse(&engine->certs, cert, engine->pump_certs->problem);
	else
		certs_settle(&engine->certs, cert);
}

static void finish_accepted(struct engine *engine, struct cert *cert)
{
	cert->has = engine->pump_certs->digest;
	cert->is_listed = true;
	if (cert->wanted == engine->pump_certs->digest) {
		int err = certs_write_file(&engine->certs, cert);
		if (err != 0)
			disk_failed(engine->disk, err, "a certificate");
	}
	disk_want_flush(engine->disk);
	certs_settle(&engine->certs, cert);
}

static void finish_cert(struct engine *engine)
{
	struct cert *cert = engine->pump_certs->sending;
	engine->pump_certs->sending = NULL;
	if (engine->pump_certs->problem != NULL)
		finish_refused(engine, cert);
	else
		finish_accepted(engine, cert);
	engine_wake(engine);
}

static void finish_removed(struct engine *engine)
{
	struct cert *cert = engine->pump_certs->sending;
	engine->pump_certs->sending = NULL;
	cert->has = 0;
	cert->is_listed = false;
	count_removed(engine, 1);
	engine->certs.is_list_changed = true;
	disk_want_flush(engine->disk);
	certs_settle(&engine->certs, cert);
	engine_wake(engine);
}

/* The response must name the file: HAProxy up to 2.8 may add it to the transaction of another one. */
static bool names_file(const struct engine *engine, struct str reply)
{
	return pump_reply_has(reply, "Transaction") &&
	       pump_reply_has(reply, engine->pump_certs->sending->file.text);
}

static void take_answer(
	struct engine *engine, enum what what, const char *command, struct str reply)
{
	bool is_good = false;
	if (sending(engine) == NULL)
		return;
	switch (what) {
	case WHAT_NEW:
		is_good = pump_reply_has(reply, "New empty certificate store") ||
			  pump_reply_has(reply, "already exists");
		break;
	case WHAT_SET:
		is_good = names_file(engine, reply);
		break;
	case WHAT_REMOVE:
	case WHAT_REMOVED:
		is_good = true;
		break;
	default:
		is_good = pump_reply_has(reply, "Success!") || strncmp(command, "show", 4) == 0;
		break;
	}
	if (!is_good)
		note_problem(engine, reply);
	if (what == WHAT_ADDED)
		finish_cert(engine);
	else if (what == WHAT_REMOVED)
		finish_removed(engine);
}

static void on_reply(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	probe_control_answered(engine->probe);
	if (what != WHAT_IGNORED)
		take_answer(engine, (enum what)what, command, reply);
	else if (cli_in_flight(connection_cli(engine->connection)) == 0)
		engine_wake(engine);
}

struct pump_certs *pump_certs_new(void)
{
	return xcalloc(1, sizeof(struct pump_certs));
}

void pump_certs_free(struct pump_certs *certs)
{
	free(certs->problem);
	free(certs);
}
