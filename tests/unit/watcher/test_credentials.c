// SPDX-License-Identifier: Apache-2.0
/* Credentials on a real loop, with real files and a real plugin. */
#include "watcher/credentials.h"
#include "watcher/exec_credential.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	char dir[64];
	struct ev_loop *loop;
	struct target target;
	struct credentials *credentials;
	double exec_timeout_s;
	double exec_pause_s;
	int settled;
	int peer_changed;
};

static char *path_in(const struct fixture *f, const char *name)
{
	return xasprintf("%s/%s", f->dir, name);
}

static void write_file(const struct fixture *f, const char *name, const char *text)
{
	char *path = path_in(f, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	free(path);
}

/* One of the certificates and keys of the tests; the caller frees it. */
static char *sample(const char *name)
{
	char *path = xasprintf(CERTS_DIR "/%s", name);
	char text[8192] = "";
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	free(path);
	return xstrdup(text);
}

static void copy_sample(const struct fixture *f, const char *name, const char *from)
{
	char *text = sample(from);
	write_file(f, name, text);
	free(text);
}

static void assert_sample(const char *text, const char *name)
{
	char *want = sample(name);
	assert_string_equal(text, want);
	free(want);
}

static void on_settled(void *ctx)
{
	struct fixture *f = ctx;
	f->settled++;
	ev_break(f->loop, EVBREAK_ALL);
}

static void on_peer_changed(void *ctx)
{
	struct fixture *f = ctx;
	f->peer_changed++;
}

static void ignore_line(void *ctx, const struct log_event *event, struct str line)
{
	(void)ctx;
	(void)event;
	(void)line;
}

static void set_up(struct fixture *f)
{
	*f = (struct fixture){.dir = "/tmp/sluice-test-XXXXXX",
		.loop = ev_default_loop(EVFLAG_AUTO),
		.exec_timeout_s = 30};
	assert_non_null(mkdtemp(f->dir));
	f->target.server = xstrdup("https://api.example");
	log_set_sink(ignore_line, NULL);
}

static char *start(struct fixture *f)
{
	char *problem = NULL;
	f->credentials = credentials_new(
		&(struct credentials_config){
			.loop = f->loop,
			.target = &f->target,
			.exec_timeout_s = f->exec_timeout_s,
			.exec_pause_s = f->exec_pause_s,
			.on_settled = on_settled,
			.on_peer_changed = on_peer_changed,
			.ctx = f,
		},
		&problem);
	return problem;
}

static void tear_down(struct fixture *f)
{
	char *command = xasprintf("rm -r %s", f->dir);
	credentials_free(f->credentials);
	target_fini(&f->target);
	assert_int_equal(system(command), 0);
	free(command);
	log_set_sink(NULL, NULL);
}

static struct credentials_view ready(struct fixture *f)
{
	struct credentials_view view = {0};
	assert_int_equal(credentials_get(f->credentials, &view), CREDENTIALS_READY);
	return view;
}

/* Lets the loop's clock go beyond the least time between two reads. */
static void pass_time(struct fixture *f)
{
	double from = ev_now(f->loop);
	while (ev_now(f->loop) < from + 0.02)
		ev_now_update(f->loop);
}

static void a_token_file_is_read_again_at_once_after_a_401(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	write_file(&f, "token", " first\n");
	f.target.token_file = path_in(&f, "token");
	assert_null(start(&f));
	struct credentials_view old = ready(&f);
	assert_string_equal(old.bearer->text, "first");
	pass_time(&f);
	/* Nothing new: no use in trying again. */
	assert_false(credentials_refused(f.credentials, old.generation, old.taken_at));
	write_file(&f, "token", "second");
	/* It was read since that request began, so it is not read again for it. */
	assert_false(credentials_refused(f.credentials, old.generation, old.taken_at));
	pass_time(&f);
	struct credentials_view next = ready(&f);
	assert_string_equal(next.bearer->text, "first");
	assert_true(credentials_refused(f.credentials, next.generation, next.taken_at));
	/* Those that met the same 401 hear that there is something newer. */
	assert_true(credentials_refused(f.credentials, old.generation, old.taken_at));
	struct credentials_view fresh = ready(&f);
	assert_string_equal(fresh.bearer->text, "second");
	assert_true(fresh.generation > old.generation);
	tear_down(&f);
}

static void the_old_token_stays_while_the_file_is_unusable(void **state)
{
	static const char *const bad[] = {"", "  \n", "two words", "a\nb", "x\x01y"};
	struct fixture f;
	(void)state;
	set_up(&f);
	write_file(&f, "token", "good");
	f.target.token_file = path_in(&f, "token");
	assert_null(start(&f));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file(&f, "token", bad[i]);
		credentials_reload(f.credentials);
		assert_string_equal(ready(&f).bearer->text, "good");
		assert_string_not_equal(credentials_problem(f.credentials), "");
	}
	unlink(f.target.token_file);
	credentials_reload(f.credentials);
	assert_string_equal(ready(&f).bearer->text, "good");
	write_file(&f, "token", "new");
	credentials_reload(f.credentials);
	assert_string_equal(ready(&f).bearer->text, "new");
	assert_string_equal(credentials_problem(f.credentials), "");
	tear_down(&f);
}

static void a_missing_token_file_at_the_start_is_told(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	f.target.token_file = path_in(&f, "token");
	char *problem = start(&f);
	assert_non_null(strstr(problem, "/token: No such file or directory"));
	free(problem);
	/* A token in the kubeconfig itself serves meanwhile. */
	assert_int_equal(secret_set(&f.target.token, STR("literal")), 0);
	assert_null(start(&f));
	assert_string_equal(ready(&f).bearer->text, "literal");
	tear_down(&f);
}

static void certificates_are_taken_over_when_they_change(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	copy_sample(&f, "ca", "a.crt");
	copy_sample(&f, "cert", "a.crt");
	copy_sample(&f, "key", "a.key");
	f.target.ca_file = path_in(&f, "ca");
	f.target.cert_file = path_in(&f, "cert");
	f.target.key_file = path_in(&f, "key");
	assert_null(start(&f));
	struct credentials_view view = ready(&f);
	struct http_peer *held = view.peer;
	const struct http_peer *old = http_peer_hold(held);
	assert_sample(old->ca_data, "a.crt");
	assert_sample(old->key_data.text, "a.key");
	credentials_reload(f.credentials);
	assert_int_equal(f.peer_changed, 0);
	copy_sample(&f, "ca", "b.crt");
	credentials_reload(f.credentials);
	assert_int_equal(f.peer_changed, 1);
	struct http_peer *other = ready(&f).peer;
	const struct http_peer *fresh = http_peer_hold(other);
	assert_sample(fresh->ca_data, "b.crt");
	/* Whoever runs with the old ones goes on with them. */
	assert_sample(old->ca_data, "a.crt");
	http_peer_release(held);
	/* Half a rotation: nothing is taken. */
	copy_sample(&f, "cert", "b.crt");
	credentials_reload(f.credentials);
	assert_int_equal(f.peer_changed, 1);
	assert_non_null(strstr(credentials_problem(f.credentials), "key: is not the key of"));
	unlink(f.target.key_file);
	credentials_reload(f.credentials);
	assert_int_equal(f.peer_changed, 1);
	copy_sample(&f, "key", "b.key");
	credentials_reload(f.credentials);
	assert_int_equal(f.peer_changed, 2);
	/* Half a file: likewise. */
	write_file(&f, "ca", "-----BEGIN CERTIFICATE-----\nMIIB");
	credentials_reload(f.credentials);
	assert_int_equal(f.peer_changed, 2);
	assert_non_null(strstr(credentials_problem(f.credentials), f.target.ca_file));
	http_peer_release(other);
	tear_down(&f);
}

static void a_ca_that_may_be_missing_and_one_that_may_not(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	f.target.ca_file = path_in(&f, "ca");
	char *problem = start(&f);
	assert_non_null(strstr(problem, "/ca: No such file or directory"));
	free(problem);
	f.target.ca_is_optional = true;
	assert_null(start(&f));
	tear_down(&f);
}

/* ---- exec plugins ---- */

static void use_plugin(struct fixture *f, const char *script)
{
	struct target_exec *exec = xcalloc(1, sizeof(*exec));
	char *text = xasprintf("#!/bin/sh\ncd %s\n%s", f->dir, script);
	write_file(f, "plugin", text);
	free(text);
	exec->command = path_in(f, "plugin");
	exec->api_version = xstrdup("client.authentication.k8s.io/v1");
	exec->args = xcalloc(2, sizeof(char *));
	exec->args[0] = xstrdup("an argument");
	exec->arg_count = 1;
	exec->env = xcalloc(2, sizeof(char *));
	exec->env[0] = xstrdup("EXTRA=more");
	exec->env_count = 1;
	exec->provide_cluster_info = true;
	f->target.exec = exec;
}

#define PRINT(status)                                            \
	"cat "                                                   \
	"<<EOF\n{\"apiVersion\":\"client.authentication.k8s.io/" \
	"v1\",\"kind\":\"ExecCredential\",\"status\":{" status "}}\nEOF\n"

/* Asks, and lets the loop run until it has settled. */
static enum credentials_state settle(struct fixture *f, struct credentials_view *view)
{
	enum credentials_state now = credentials_get(f->credentials, view);
	if (now != CREDENTIALS_PENDING)
		return now;
	ev_run(f->loop, 0);
	return credentials_get(f->credentials, view);
}

static void a_plugin_gives_a_token_until_it_expires(void **state)
{
	struct fixture f;
	struct credentials_view view = {0};
	(void)state;
	set_up(&f);
	use_plugin(&f, "echo run >> runs\nread nothing && exit 9\n"
		       "echo \"$1 $EXTRA\" > seen\necho \"$KUBERNETES_EXEC_INFO\" > info\n" PRINT(
			       "\"token\":\"t$(wc -l < "
			       "runs)\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\""));
	assert_null(start(&f));
	assert_int_equal(settle(&f, &view), CREDENTIALS_READY);
	assert_string_equal(view.bearer->text, "t1");
	assert_int_equal(settle(&f, &view), CREDENTIALS_READY);
	assert_string_equal(view.bearer->text, "t1");
	struct secret text = {0};
	char *path = path_in(&f, "seen");
	assert_int_equal(secret_load_file(&text, path), 0);
	assert_string_equal(text.text, "an argument more");
	free(path);
	path = path_in(&f, "info");
	assert_int_equal(secret_load_file(&text, path), 0);
	assert_string_equal(text.text,
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
		"v1\",\"spec\":"
		"{\"interactive\":false,\"cluster\":{\"server\":\"https://api.example\"}}}");
	free(path);
	secret_fini(&text);
	tear_down(&f);
}

static void a_401_runs_the_plugin_again_but_not_without_pause(void **state)
{
	struct fixture f;
	struct credentials_view view = {0};
	(void)state;
	set_up(&f);
	use_plugin(&f, "echo run >> runs\n" PRINT("\"token\":\"t$(wc -l < runs)\""));
	assert_null(start(&f));
	assert_int_equal(settle(&f, &view), CREDENTIALS_READY);
	/* It has only just run: what it gave is all there is. */
	assert_false(credentials_refused(f.credentials, view.generation, view.taken_at));
	credentials_free(f.credentials);
	f.exec_pause_s = 0.01;
	assert_null(start(&f));
	assert_int_equal(settle(&f, &view), CREDENTIALS_READY);
	assert_string_equal(view.bearer->text, "t2");
	pass_time(&f);
	assert_true(credentials_refused(f.credentials, view.generation, view.taken_at));
	assert_int_equal(settle(&f, &view), CREDENTIALS_READY);
	assert_string_equal(view.bearer->text, "t3");
	tear_down(&f);
}

static void a_plugin_gives_a_certificate(void **state)
{
	struct fixture f;
	struct credentials_view view = {0};
	(void)state;
	set_up(&f);
	use_plugin(&f, PRINT("\"clientCertificateData\":\"CERT\",\"clientKeyData\":\"KEY\""));
	assert_null(start(&f));
	assert_int_equal(settle(&f, &view), CREDENTIALS_READY);
	assert_null(view.bearer);
	const struct http_peer *peer = http_peer_hold(view.peer);
	assert_string_equal(peer->cert_data, "CERT");
	assert_string_equal(peer->key_data.text, "KEY");
	http_peer_release(view.peer);
	tear_down(&f);
}

static void what_a_plugin_does_wrong_is_told(void **state)
{
	static const struct {
		const char *script;
		const char *problem;
		double timeout_s;
	} rows[] = {
		{"echo no luck >&2; exit 3\n", "ended with exit code 3: no luck", 30},
		{"kill -9 $$\n", "died of signal 9", 30},
		{"echo hello\n", "it printed no JSON", 30},
		{"echo '{}'\n", "it printed no ExecCredential", 30},
		{"head -c 2000000 /dev/zero\n", "prints too much", 30},
		{PRINT(""), "it printed neither a token nor a certificate", 30},
		{"sleep 100 & exec sleep 100\n", "took too long", 0.1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct credentials_view view = {0};
		set_up(&f);
		f.exec_timeout_s = rows[i].timeout_s;
		use_plugin(&f, rows[i].script);
		assert_null(start(&f));
		assert_int_equal(settle(&f, &view), CREDENTIALS_MISSING);
		if (strstr(credentials_problem(f.credentials), rows[i].problem) == NULL)
			fail_msg("%s: %s", rows[i].script, credentials_problem(f.credentials));
		tear_down(&f);
	}
}

static void a_plugin_that_is_not_there_is_told_with_its_hint(void **state)
{
	struct fixture f;
	struct credentials_view view = {0};
	(void)state;
	set_up(&f);
	use_plugin(&f, "");
	free(f.target.exec->command);
	f.target.exec->command = xstrdup("/nonexistent/plugin");
	f.target.exec->install_hint = xstrdup("get it there");
	assert_null(start(&f));
	assert_int_equal(settle(&f, &view), CREDENTIALS_MISSING);
	assert_non_null(strstr(
		credentials_problem(f.credentials), "No such file or directory; get it there"));
	tear_down(&f);
}

/* ---- what plugins print ---- */

#define CREDENTIAL(status) \
	"{\"apiVersion\":\"v\",\"kind\":\"ExecCredential\",\"status\":" status "}"

static void answers_of_plugins_are_checked(void **state)
{
	static const struct {
		const char *output;
		const char *problem; /* NULL: good */
		double expires_at;
	} rows[] = {
		{CREDENTIAL("{\"token\":\"t\"}"), NULL, 0},
		{CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"2026-07-14T09:00:00Z\"}"),
			NULL, 1784019600},
		{CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"2026-07-14T11:00:00.123+02:"
			    "00\"}"),
			NULL, 1784019600},
		{CREDENTIAL(
			 "{\"token\":\"t\",\"expirationTimestamp\":\"2026-07-14T04:30:00-04:30\"}"),
			NULL, 1784019600},
		{CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":null}"), NULL, 0},
		{CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"),
			"its expirationTimestamp is no time", 0},
		{CREDENTIAL("{\"token\":7}"), "members of its status must be text", 0},
		{CREDENTIAL("{\"token\":\"a b\"}"), "its token is no single word", 0},
		{CREDENTIAL("{\"token\":\"a\\r\\nX: y\"}"), "its token is no single word", 0},
		{CREDENTIAL("{\"clientCertificateData\":\"c\"}"),
			"a client certificate and its key come together", 0},
		{CREDENTIAL("null"), "it printed no status", 0},
		{CREDENTIAL("{\"token\":\"t\",\"token\":\"u\"}"),
			"it printed no JSON, or the same name twice in one object", 0},
		{"{\"apiVersion\":\"w\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}",
			"it answers in another apiVersion than the kubeconfig asks for", 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct exec_credential credential = {0};
		const char *problem =
			exec_credential_parse(str_from(rows[i].output), "v", &credential);
		if ((problem == NULL) != (rows[i].problem == NULL) ||
			(problem != NULL && strcmp(problem, rows[i].problem) != 0))
			fail_msg("%s: %s", rows[i].output, problem);
		assert_true(credential.expires_at >= rows[i].expires_at &&
			    credential.expires_at < rows[i].expires_at + 1);
		exec_credential_fini(&credential);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_file_is_read_again_at_once_after_a_401),
		cmocka_unit_test(the_old_token_stays_while_the_file_is_unusable),
		cmocka_unit_test(a_missing_token_file_at_the_start_is_told),
		cmocka_unit_test(certificates_are_taken_over_when_they_change),
		cmocka_unit_test(a_ca_that_may_be_missing_and_one_that_may_not),
		cmocka_unit_test(a_plugin_gives_a_token_until_it_expires),
		cmocka_unit_test(a_401_runs_the_plugin_again_but_not_without_pause),
		cmocka_unit_test(a_plugin_gives_a_certificate),
		cmocka_unit_test(what_a_plugin_does_wrong_is_told),
		cmocka_unit_test(a_plugin_that_is_not_there_is_told_with_its_hint),
		cmocka_unit_test(answers_of_plugins_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
