// SPDX-License-Identifier: Apache-2.0
#include "watcher/kubeconfig.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "watcher/target_find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#define CONFIG(cluster, user)                                                   \
	"apiVersion: v1\nkind: Config\ncurrent-context: x\n"                    \
	"contexts: [{name: x, context: {cluster: c, user: u, namespace: n}}]\n" \
	"clusters:\n- name: c\n  cluster: " cluster "\nusers:\n- name: u\n  user: " user "\n"

#define SERVER "{server: 'https://api.example:6443'}"

static char *choose(const char *text, const char *context, struct target *target)
{
	struct kubeconfig_file file = {str_from(text), "FILE", "/dir"};
	*target = (struct target){0};
	return kubeconfig_choose(&file, 1, context, target);
}

/* ---- what is refused, and in which words ---- */

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} rows[] = {
		{"", "no current-context is set; name one with --context"},
		{"[]", "no current-context is set; name one with --context"},
		{"a: b: c",
			"FILE: line 1: no YAML: mapping values are not allowed in this context"},
		{"current-context: x\n", "no context is named \"x\""},
		{"current-context: [x]\n", "FILE: current-context must be text"},
		{"current-context: \"a\\0b\"\n", "FILE: current-context must be text"},
		{"current-context: x\ncontexts: 7\n", "FILE: contexts must be a list"},
		{"current-context: x\ncontexts: [{name: x}]\n", "context \"x\" names no cluster"},
		{"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n",
			"no cluster is named \"c\""},
		{CONFIG("{}", "{}"),
			"FILE: the cluster's server must be an http:// or https:// URL"},
		{CONFIG("{server: 'ftp://x'}", "{}"),
			"FILE: the cluster's server must be an http:// or https:// URL"},
		{CONFIG("{server: 'https://x y'}", "{}"),
			"FILE: the cluster's server must be an http:// or https:// URL"},
		{CONFIG("{server: 'https://'}", "{}"),
			"FILE: the cluster's server must be an http:// or https:// URL"},
		{CONFIG("{server: 'https://x', insecure-skip-tls-verify: yes}", "{}"),
			"FILE: insecure-skip-tls-verify must be true or false"},
		{CONFIG("{server: 'https://x', insecure-skip-tls-verify: true, "
			"certificate-authority: ca}",
			 "{}"),
			"FILE: insecure-skip-tls-verify and a certificate authority exclude each "
			"other"},
		{CONFIG("{server: 'https://x', certificate-authority-data: '*'}", "{}"),
			"FILE: certificate-authority-data is no base64 text"},
		{CONFIG(SERVER, "{token: t, username: u}"),
			"FILE: a token and a user name exclude each other"},
		{CONFIG(SERVER, "{client-certificate: c}"),
			"FILE: a client certificate and its key come together"},
		{CONFIG(SERVER, "{auth-provider: {name: gcp}}"),
			"FILE: auth-provider is not supported; use an exec plugin"},
		{CONFIG(SERVER, "{as: \"a\\nb\"}"),
			"FILE: as, as-uid and as-groups must be single lines"},
		{CONFIG(SERVER, "{as-groups: [g]}"), "FILE: as-uid and as-groups need as"},
		{CONFIG(SERVER, "{as: a, as-user-extra: {k: [v]}}"),
			"FILE: as-user-extra is not supported"},
		{CONFIG(SERVER, "{exec: {apiVersion: client.authentication.k8s.io/v1}}"),
			"FILE: exec.command is missing"},
		{CONFIG(SERVER,
			 "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}"),
			"FILE: exec.apiVersion must be client.authentication.k8s.io/v1 or "
			".../v1beta1"},
		{CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
				"interactiveMode: Always}}"),
			"FILE: an exec plugin that must be interactive cannot be used by a daemon"},
		{CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
				"env: [{value: v}]}}"),
			"FILE: exec.env[0] needs a name"},
		{CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
				"args: [{}]}}"),
			"FILE: args[0] must be text"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct target target;
		char *problem = choose(rows[i].text, NULL, &target);
		if (problem == NULL || strcmp(problem, rows[i].want) != 0)
			fail_msg("%s\n got  %s\n want %s", rows[i].text, problem, rows[i].want);
		free(problem);
	}
}

/* ---- what is read ---- */

static void all_of_a_cluster_is_read(void **state)
{
	struct target target;
	(void)state;
	assert_null(choose(
		CONFIG("{server: 'https://api.example:6443/k8s/?a=b#c', tls-server-name: kube, "
		       "proxy-url: 'http://p:1',"
		       " certificate-authority: pki/ca.crt, certificate-authority-data: Q0EK}",
			"{}"),
		NULL, &target));
	assert_string_equal(target.server, "https://api.example:6443/k8s");
	assert_string_equal(target.tls_server_name, "kube");
	assert_string_equal(target.proxy_url, "http://p:1");
	assert_string_equal(target.ca_file, "/dir/pki/ca.crt");
	assert_string_equal(target.ca_data, "CA\n");
	assert_false(target.insecure);
	assert_non_null(strstr(target.source, "FILE"));
	target_fini(&target);
	assert_null(choose(CONFIG("{server: 'https://x', insecure-skip-tls-verify: true}", "{}"),
		NULL, &target));
	assert_true(target.insecure);
	target_fini(&target);
}

static void all_of_a_user_is_read(void **state)
{
	struct target target;
	(void)state;
	assert_null(choose(
		CONFIG(SERVER, "{token: t0k, tokenFile: /abs/token, client-certificate-data: "
			       "Q0VSVAo=, client-key-data: S0VZCg==,"
			       " client-certificate: c.pem, client-key: null, as: admin, as-uid: "
			       "'7', as-groups: [g1, g2]}"),
		NULL, &target));
	assert_string_equal(target.token.text, "t0k");
	assert_string_equal(target.token_file, "/abs/token");
	assert_string_equal(target.cert_data, "CERT\n");
	assert_string_equal(target.key_data.text, "KEY\n");
	assert_string_equal(target.cert_file, "/dir/c.pem");
	assert_null(target.key_file);
	assert_string_equal(target.as_user, "admin");
	assert_string_equal(target.as_uid, "7");
	assert_int_equal(target.as_group_count, 2);
	assert_string_equal(target.as_groups[1], "g2");
	target_fini(&target);
	assert_null(choose(CONFIG(SERVER, "{username: u, password: p}"), NULL, &target));
	assert_string_equal(target.username, "u");
	assert_string_equal(target.password.text, "p");
	target_fini(&target);
}

static void an_exec_plugin_is_read(void **state)
{
	struct target target;
	(void)state;
	assert_null(
		choose(CONFIG(SERVER, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
				      "command: ./bin/get, args: [a, 'b c'],"
				      " env: [{name: N, value: v}, {name: M}], installHint: 'get "
				      "it', provideClusterInfo: true, interactiveMode: Never}}"),
			NULL, &target));
	assert_string_equal(target.exec->command, "/dir/./bin/get");
	assert_int_equal(target.exec->arg_count, 2);
	assert_string_equal(target.exec->args[1], "b c");
	assert_int_equal(target.exec->env_count, 2);
	assert_string_equal(target.exec->env[0], "N=v");
	assert_string_equal(target.exec->env[1], "M=");
	assert_true(target.exec->provide_cluster_info);
	target_fini(&target);
	assert_null(choose(CONFIG(SERVER, "{exec: {apiVersion: client.authentication.k8s.io/v1, "
					  "command: get, args: null, env: null}}"),
		NULL, &target));
	assert_string_equal(target.exec->command, "get");
	target_fini(&target);
}

static void over_plain_http_no_credentials_are_loaded(void **state)
{
	struct target target;
	(void)state;
	assert_null(choose(
		CONFIG("{server: 'http://127.0.0.1:8080/'}", "{token: t, client-certificate: c}"),
		NULL, &target));
	assert_string_equal(target.server, "http://127.0.0.1:8080");
	assert_null(target.token.text);
	assert_null(target.cert_file);
	assert_false(target_is_https(&target));
	target_fini(&target);
}

static void json_is_yaml(void **state)
{
	struct target target;
	(void)state;
	assert_null(choose("{\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\",\"context\":{"
			   "\"cluster\":\"c\",\"user\":\"u\"}}],"
			   "\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https://"
			   "x\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"t\"}}]}",
		NULL, &target));
	assert_string_equal(target.token.text, "t");
	target_fini(&target);
}

static void another_context_may_be_named(void **state)
{
	struct target target;
	char *problem = choose(CONFIG(SERVER, "{}"), "y", &target);
	(void)state;
	assert_string_equal(problem, "no context is named \"y\"");
	free(problem);
	assert_null(choose(CONFIG(SERVER, "{}"), "x", &target));
	target_fini(&target);
}

static void the_first_file_that_defines_a_name_wins_whole(void **state)
{
	static const struct kubeconfig_file files[] = {
		{STR("users: [{name: u, user: {token: first, tokenFile: t}}]\n"), "A", "/a"},
		{STR(CONFIG(SERVER, "{token: second, as: admin}")), "B", "/b"},
		{STR("current-context: z\nclusters: [{name: c, cluster: {server: "
		     "'https://late'}}]\n"),
			"C", "/c"},
	};
	struct target target = {0};
	(void)state;
	assert_null(kubeconfig_choose(files, 3, NULL, &target));
	assert_string_equal(target.server, "https://api.example:6443");
	assert_string_equal(target.token.text, "first");
	assert_string_equal(target.token_file, "/a/t");
	assert_null(target.as_user);
	target_fini(&target);
}

/* ---- hostile files ---- */

static void aliases_are_followed_but_never_multiplied(void **state)
{
	struct target target;
	struct buf text;
	(void)state;
	assert_null(choose("current-context: x\nbase: &b {server: 'https://aliased'}\ncontexts: "
			   "[{name: x, context: {cluster: c}}]\n"
			   "clusters: [{name: c, cluster: *b}]\n",
		NULL, &target));
	assert_string_equal(target.server, "https://aliased");
	target_fini(&target);
	/* A billion laughs. */
	buf_init(&text, 1 << 16);
	assert_int_equal(buf_printf(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"), 0);
	for (int i = 1; i < 30; i++)
		assert_int_equal(
			buf_printf(&text,
				"a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
				i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1),
			0);
	assert_int_equal(buf_printf(&text, "contexts: *a29\ncurrent-context: x\n"), 0);
	assert_int_equal(buf_append(&text, "", 1), 0);
	char *problem = choose((const char *)buf_data(&text), NULL, &target);
	assert_string_equal(problem, "no context is named \"x\"");
	free(problem);
	buf_fini(&text);
}

static void sizes_are_bounded(void **state)
{
	struct target target;
	struct buf text;
	(void)state;
	char *big = xmalloc(KUBECONFIG_LEN_MAX + 2);
	memset(big, ' ', KUBECONFIG_LEN_MAX + 1);
	big[KUBECONFIG_LEN_MAX + 1] = '\0';
	char *problem = choose(big, NULL, &target);
	assert_string_equal(problem, "FILE: longer than 1048576 bytes");
	free(problem);
	free(big);
	buf_init(&text, 1 << 20);
	assert_int_equal(buf_printf(&text, "current-context: x\ncontexts: ["), 0);
	for (int i = 0; i <= KUBECONFIG_ENTRIES_MAX; i++)
		assert_int_equal(buf_printf(&text, "{},"), 0);
	assert_int_equal(buf_append(&text, "]\n", 3), 0);
	problem = choose((const char *)buf_data(&text), NULL, &target);
	assert_string_equal(problem, "FILE: contexts has more than 4096 entries");
	free(problem);
	buf_clear(&text);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf_append(&text, "[", 1), 0);
	assert_int_equal(buf_append(&text, "", 1), 0);
	problem = choose((const char *)buf_data(&text), NULL, &target);
	assert_string_equal(problem, "FILE: nested too deeply");
	free(problem);
	buf_fini(&text);
}

/* ---- where configuration comes from ---- */

static const char *fake_env[8][2];

static char *fake_getenv(const char *name)
{
	for (size_t i = 0; i < 8 && fake_env[i][0] != NULL; i++) {
		if (strcmp(fake_env[i][0], name) == 0)
			return (char *)(uintptr_t)fake_env[i][1];
	}
	return NULL;
}

static void the_place_of_configuration_is_found_in_order(void **state)
{
	struct target_options options = {0};
	struct target target = {0};
	char path[] = "/tmp/sluice-test-XXXXXX";
	(void)state;
	memset(fake_env, 0, sizeof(fake_env));
	char *problem = target_find(&options, fake_getenv, &target);
	assert_non_null(strstr(problem, "no API server"));
	free(problem);

	int fd = mkstemp(path);
	assert_true(fd >= 0);
	static const char text[] = CONFIG("{server: 'https://from-file'}", "{token: t}");
	assert_int_equal(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	close(fd);

	/* In a pod. */
	fake_env[0][0] = "KUBERNETES_SERVICE_HOST";
	fake_env[0][1] = "fd00::1";
	fake_env[1][0] = "KUBERNETES_SERVICE_PORT";
	fake_env[1][1] = "6443";
	options.token_file = path;
	assert_null(target_find(&options, fake_getenv, &target));
	assert_string_equal(target.server, "https://[fd00::1]:6443");
	assert_string_equal(target.token_file, path);
	assert_string_equal(target.ca_file, TARGET_IN_CLUSTER_DIR "/ca.crt");
	assert_true(target.ca_is_optional);
	target_fini(&target);
	options.token_file = "/nonexistent";
	problem = target_find(&options, fake_getenv, &target);
	assert_string_equal(problem, "/nonexistent: No such file or directory");
	free(problem);

	/* A kubeconfig beats the pod; files that are missing are skipped. */
	char *list = xasprintf("/nonexistent:%s", path);
	options = (struct target_options){.kubeconfig = list, .ca_file = "/my/ca"};
	assert_null(target_find(&options, fake_getenv, &target));
	assert_string_equal(target.server, "https://from-file");
	assert_string_equal(target.ca_file, "/my/ca");
	target_fini(&target);
	free(list);
	options.kubeconfig = "/nonexistent";
	problem = target_find(&options, fake_getenv, &target);
	assert_string_equal(problem, "no kubeconfig at /nonexistent");
	free(problem);

	/* A URL beats all. */
	options = (struct target_options){.kubeconfig = path,
		.url = "https://kubernetes:6443/",
		.token_file = path,
		.ca_file = "/my/ca"};
	assert_null(target_find(&options, fake_getenv, &target));
	assert_string_equal(target.server, "https://kubernetes:6443");
	assert_false(target.token_on_stdin);
	target_fini(&target);
	options.url = "http://localhost:8080";
	assert_null(target_find(&options, fake_getenv, &target));
	assert_null(target.token_file);
	assert_false(target.token_on_stdin);
	target_fini(&target);
	options.url = "kubernetes:6443";
	problem = target_find(&options, fake_getenv, &target);
	assert_non_null(strstr(problem, "must be an http:// or https:// URL"));
	free(problem);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(all_of_a_cluster_is_read),
		cmocka_unit_test(all_of_a_user_is_read),
		cmocka_unit_test(an_exec_plugin_is_read),
		cmocka_unit_test(over_plain_http_no_credentials_are_loaded),
		cmocka_unit_test(json_is_yaml),
		cmocka_unit_test(another_context_may_be_named),
		cmocka_unit_test(the_first_file_that_defines_a_name_wins_whole),
		cmocka_unit_test(aliases_are_followed_but_never_multiplied),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(the_place_of_configuration_is_found_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
