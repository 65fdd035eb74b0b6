// SPDX-License-Identifier: Apache-2.0
#include "watcher/exec_credential.h"

#include "common/json.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <openssl/evp.h>
#include <time.h>
#include <unistd.h>

void exec_credential_fini(struct exec_credential *credential)
{
	secret_fini(&credential->token);
	secret_fini(&credential->key_data);
	free(credential->cert_data);
	*credential = (struct exec_credential){0};
}

/* ---- input of the plugin ---- */

static char *to_base64(const char *text)
{
	size_t len = strlen(text);
	char *packed = xmalloc(len / 3 * 4 + 8);
	EVP_EncodeBlock((unsigned char *)packed, (const unsigned char *)text, (int)len);
	return packed;
}

static void add_cluster(struct json *spec, const struct target *target, const char *ca_data)
{
	struct json *cluster = json_add_object(spec, "cluster");
	json_add_str(cluster, "server", str_from(target->server));
	if (target->tls_server_name != NULL)
		json_add_str(cluster, "tls-server-name", str_from(target->tls_server_name));
	if (target->insecure)
		json_add_bool(cluster, "insecure-skip-tls-verify", true);
	if (target->proxy_url != NULL)
		json_add_str(cluster, "proxy-url", str_from(target->proxy_url));
	if (ca_data != NULL) {
		char *packed = to_base64(ca_data);
		json_add_str(cluster, "certificate-authority-data", str_from(packed));
		free(packed);
	}
}

static char *make_info(const struct target *target, const char *ca_data)
{
	struct buf text;
	struct json *info = json_new_object();
	json_add_str(info, "kind", STR("ExecCredential"));
	json_add_str(info, "apiVersion", str_from(target->exec->api_version));
	struct json *spec = json_add_object(info, "spec");
	json_add_bool(spec, "interactive", false);
	if (target->exec->provide_cluster_info)
		add_cluster(spec, target, ca_data);
	buf_init(&text, EXEC_OUTPUT_MAX * 4);
	must(buf_append_str(&text, STR("KUBERNETES_EXEC_INFO=")) == 0 &&
		json_print(info, &text) == 0);
	char *copy = str_dup(buf_str(&text));
	buf_fini(&text);
	json_free(info);
	return copy;
}

static bool is_replaced(char *const *by, size_t count, const char *entry)
{
	size_t len = strcspn(entry, "=");
	for (size_t i = 0; i < count; i++) {
		if (strcspn(by[i], "=") == len && memcmp(by[i], entry, len) == 0)
			return true;
	}
	return false;
}

char **exec_credential_env(const struct target *target, const char *ca_data)
{
	const struct target_exec *exec = target->exec;
	size_t own = 0;
	while (environ[own] != NULL)
		own++;
	char **env = xcalloc(own + exec->env_count + 2, sizeof(*env));
	size_t count = 0;
	env[count++] = make_info(target, ca_data);
	for (size_t i = 0; i < exec->env_count; i++)
		env[count++] = exec->env[i];
	const size_t given = count;
	for (size_t i = 0; i < own; i++) {
		if (!is_replaced(env, given, environ[i]))
			env[count++] = environ[i];
	}
	return env;
}

/* ---- what it answers ---- */

/* RFC 3339, such as "2026-07-14T09:00:00Z", with fractions or an offset. */
static bool read_time(struct str text, double *ret_seconds)
{
	char copy[64];
	struct tm tm = {0};
	int hours = 0;
	int minutes = 0;
	char sign = '\0';
	if (text.len >= sizeof(copy))
		return false;
	str_put(copy, text);
	copy[text.len] = '\0';
	const char *rest = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest == NULL)
		return false;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (strcmp(rest, "Z") != 0) {
		/* Two digits cannot overflow. NOLINTNEXTLINE(cert-err34-c) */
		if (sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3 ||
			(sign != '+' && sign != '-'))
			return false;
	}
	int offset_s = (hours * 60 + minutes) * 60;
	*ret_seconds = (double)timegm(&tm) - (sign == '-' ? -offset_s : offset_s);
	return true;
}

/* A token goes into a header, so it must be a single word. */
static bool is_word(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] <= ' ' || text.p[i] >= 0x7f)
			return false;
	}
	return true;
}

static const char *read_status(const struct json *status, struct exec_credential *credential)
{
	struct str token;
	struct str cert;
	struct str key;
	struct str expires;
	if (!json_is_object(status))
		return "it printed no status";
	if (!json_get_str(status, "token", &token) ||
		!json_get_str(status, "clientCertificateData", &cert) ||
		!json_get_str(status, "clientKeyData", &key) ||
		!json_get_str(status, "expirationTimestamp", &expires))
		return "members of its status must be text";
	if ((cert.len != 0) != (key.len != 0))
		return "a client certificate and its key come together";
	if (token.len == 0 && cert.len == 0)
		return "it printed neither a token nor a certificate";
	if (!is_word(token))
		return "its token is no single word";
	if (expires.len != 0 && !read_time(expires, &credential->expires_at))
		return "its expirationTimestamp is no time";
	if (token.len != 0 && secret_set(&credential->token, token) != 0)
		return "its token is too long";
	if (key.len != 0 && secret_set(&credential->key_data, key) != 0)
		return "its key is too long";
	if (cert.len != 0)
		credential->cert_data = str_dup(cert);
	return NULL;
}

const char *exec_credential_parse(
	struct str output, const char *api_version, struct exec_credential *ret_credential)
{
	struct exec_credential credential = {0};
	const char *problem = NULL;
	struct json *document = json_parse_strict(output, NULL, NULL);
	if (document == NULL)
		problem = "it printed no JSON, or the same name twice in one object";
	else if (!str_eq_c(json_text(json_get(document, "kind")), "ExecCredential"))
		problem = "it printed no ExecCredential";
	else if (!str_eq_c(json_text(json_get(document, "apiVersion")), api_version))
		problem = "it answers in another apiVersion than the kubeconfig asks for";
	else
		problem = read_status(json_get(document, "status"), &credential);
	json_free_wiped(document);
	if (problem == NULL)
		*ret_credential = credential;
	else
		exec_credential_fini(&credential);
	return problem;
}
