// SPDX-License-Identifier: Apache-2.0
#include "watcher/target.h"

#include "common/xalloc.h"

/* ---- lifecycle ---- */

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static void free_exec(struct target_exec *exec)
{
	if (exec == NULL)
		return;
	free(exec->command);
	free_texts(exec->args, exec->arg_count);
	free_texts(exec->env, exec->env_count);
	free(exec->api_version);
	free(exec->install_hint);
	free(exec);
}

static void drop_credentials(struct target *target)
{
	secret_fini(&target->token);
	secret_fini(&target->password);
	secret_fini(&target->key_data);
	free(target->token_file);
	free(target->username);
	free(target->cert_file);
	free(target->key_file);
	free(target->cert_data);
	free_exec(target->exec);
	free(target->as_user);
	free(target->as_uid);
	free_texts(target->as_groups, target->as_group_count);
	target->token_file = target->username = target->cert_file = target->key_file = NULL;
	target->cert_data = target->as_user = target->as_uid = NULL;
	target->as_groups = NULL;
	target->as_group_count = 0;
	target->exec = NULL;
	target->token_on_stdin = false;
}

void target_fini(struct target *target)
{
	drop_credentials(target);
	free(target->source);
	free(target->kubeconfig);
	free(target->server);
	free(target->ca_file);
	free(target->ca_data);
	free(target->tls_server_name);
	free(target->proxy_url);
	*target = (struct target){0};
}

char *target_obstacle(const struct target *old, const struct target *fresh)
{
	if (strcmp(old->server, fresh->server) != 0)
		return xasprintf("%s: another server, %s, is for the next start", fresh->kubeconfig,
			fresh->server);
	/* The sandbox was set up without the right to start programs. */
	if (old->exec == NULL && fresh->exec != NULL)
		return xasprintf("%s: an exec plugin where there was none is for the next start",
			fresh->kubeconfig);
	return NULL;
}

bool target_is_https(const struct target *target)
{
	return strncmp(target->server, "https://", 8) == 0;
}

char *target_plain_url(struct str url)
{
	size_t scheme = str_starts_with(url, STR("https://"))  ? 8
			: str_starts_with(url, STR("http://")) ? 7
							       : 0;
	size_t len = 0;
	while (len < url.len && url.p[len] != '?' && url.p[len] != '#') {
		unsigned char c = (unsigned char)url.p[len];
		if (c <= ' ' || c >= 0x7f || c == '@')
			return NULL;
		len++;
	}
	while (len > scheme && url.p[len - 1] == '/')
		len--;
	if (scheme == 0 || len == scheme)
		return NULL;
	return xstrndup(url.p, len);
}
