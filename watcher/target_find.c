// SPDX-License-Identifier: Apache-2.0
#include "watcher/target_find.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "watcher/kubeconfig.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const char *get_env(char *(*environ_get)(const char *name), const char *name)
{
	const char *value = environ_get(name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* ---- by URL, as the original did ---- */

static char *find_by_url(const struct target_options *options, struct target *target)
{
	target->server = target_plain_url(str_from(options->url));
	if (target->server == NULL)
		return xstrdup(
			"--kubernetes-url (KUBERNETES_URL) must be an http:// or https:// URL");
	target->source = xasprintf("URL %s", target->server);
	if (options->ca_file != NULL)
		target->ca_file = xstrdup(options->ca_file);
	else if (access(TARGET_OLD_CA_FILE, F_OK) == 0)
		target->ca_file = xstrdup(TARGET_OLD_CA_FILE);
	if (!target_is_https(target))
		return NULL;
	if (options->token_file != NULL)
		target->token_file = xstrdup(options->token_file);
	else
		target->token_on_stdin = true;
	if (target->token_on_stdin && isatty(STDIN_FILENO))
		return xstrdup(
			"with --kubernetes-url the bearer token is read from standard input up to "
			"its end: pipe it in, or name a file with --token-file");
	return NULL;
}

/* ---- in a pod ---- */

static char *find_in_cluster(const struct target_options *options, const char *host,
	const char *port, struct target *target)
{
	bool is_v6 = strchr(host, ':') != NULL && host[0] != '[';
	char *url = xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
	target->server = target_plain_url(str_from(url));
	free(url);
	if (target->server == NULL)
		return xstrdup("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT make no URL");
	target->source = xstrdup("service account of the pod");
	target->token_file = xstrdup(
		options->token_file != NULL ? options->token_file : TARGET_IN_CLUSTER_DIR "/token");
	target->ca_file = xstrdup(
		options->ca_file != NULL ? options->ca_file : TARGET_IN_CLUSTER_DIR "/ca.crt");
	target->ca_is_optional = options->ca_file == NULL;
	if (access(target->token_file, R_OK) != 0)
		return xasprintf("%s: %s", target->token_file, strerror(errno));
	return NULL;
}

/* ---- kubeconfig ---- */

struct loaded {
	struct kubeconfig_file files[KUBECONFIG_FILES_MAX];
	struct buf contents[KUBECONFIG_FILES_MAX];
	char *paths[KUBECONFIG_FILES_MAX];
	char *dirs[KUBECONFIG_FILES_MAX];
	size_t count;
};

/* "." for a bare name; a relative folder stays relative to our working folder. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (slash == NULL)
		return xstrdup(".");
	return slash == path ? xstrdup("") : xstrndup(path, (size_t)(slash - path));
}

/* Takes ownership of `path`. Missing files are skipped. */
static char *load_file(struct loaded *loaded, char *path)
{
	size_t at = loaded->count;
	char *problem = NULL;
	struct buf *content = &loaded->contents[at];
	if (at == KUBECONFIG_FILES_MAX) {
		problem = xasprintf("more than %d kubeconfig files", KUBECONFIG_FILES_MAX);
		free(path);
		return problem;
	}
	buf_init(content, KUBECONFIG_LEN_MAX);
	int err = files_read(path, content);
	if (err != 0) {
		if (err != -ENOENT)
			problem = err == -EMSGSIZE ? xasprintf("%s: longer than %d bytes", path,
							     KUBECONFIG_LEN_MAX)
						   : xasprintf("%s: %s", path, strerror(-err));
		buf_wipe_fini(content);
		free(path);
		return problem;
	}
	loaded->paths[at] = path;
	loaded->dirs[at] = folder_of(path);
	loaded->files[at] = (struct kubeconfig_file){
		.path = path,
		.dir = loaded->dirs[at],
		.text = buf_len(content) != 0 ? buf_str(content) : STR(""),
	};
	loaded->count++;
	return NULL;
}

static char *find_by_kubeconfig(
	const struct target_options *options, const char *list, struct target *target)
{
	struct loaded loaded = {.count = 0};
	char *problem = NULL;
	const char *rest = list;
	while (*rest != '\0' && problem == NULL) {
		size_t len = strcspn(rest, ":");
		if (len != 0)
			problem = load_file(&loaded, xstrndup(rest, len));
		rest += len + (rest[len] == ':');
	}
	if (problem == NULL && loaded.count == 0)
		problem = xasprintf("no kubeconfig at %s", list);
	if (problem == NULL)
		problem = kubeconfig_choose(loaded.files, loaded.count, options->context, target);
	if (problem == NULL)
		target->kubeconfig = xstrdup(list);
	for (size_t i = 0; i < loaded.count; i++) {
		buf_wipe_fini(&loaded.contents[i]);
		free(loaded.paths[i]);
		free(loaded.dirs[i]);
	}
	return problem;
}

/* The command line overrides the file. */
static void override(const struct target_options *options, struct target *target)
{
	if (options->token_file != NULL && target_is_https(target)) {
		free(target->token_file);
		target->token_file = xstrdup(options->token_file);
	}
	if (options->ca_file != NULL) {
		free(target->ca_file);
		free(target->ca_data);
		target->ca_file = xstrdup(options->ca_file);
		target->ca_data = NULL;
		target->insecure = false;
	}
}

/* ---- choosing ---- */

static char *find(const struct target_options *options, char *(*environ_get)(const char *name),
	struct target *target)
{
	const char *host = get_env(environ_get, "KUBERNETES_SERVICE_HOST");
	const char *port = get_env(environ_get, "KUBERNETES_SERVICE_PORT");
	const char *home = get_env(environ_get, "HOME");
	if (options->url != NULL)
		return find_by_url(options, target);
	if (options->kubeconfig != NULL) {
		char *problem = find_by_kubeconfig(options, options->kubeconfig, target);
		if (problem == NULL)
			override(options, target);
		return problem;
	}
	if (host != NULL && port != NULL)
		return find_in_cluster(options, host, port, target);
	char *path = home != NULL ? xasprintf("%s/.kube/config", home) : NULL;
	char *problem = NULL;
	if (path == NULL || access(path, F_OK) != 0) {
		problem = xstrdup("no API server: not in a pod, no --kubeconfig (KUBECONFIG), no "
				  "~/.kube/config, no --kubernetes-url (KUBERNETES_URL)");
	} else {
		problem = find_by_kubeconfig(options, path, target);
		if (problem == NULL)
			override(options, target);
	}
	free(path);
	return problem;
}

char *target_find(const struct target_options *options, char *(*environ_get)(const char *name),
	struct target *ret_target)
{
	struct target target = {0};
	char *problem = find(options, environ_get, &target);
	if (problem == NULL)
		*ret_target = target;
	else
		target_fini(&target);
	return problem;
}
