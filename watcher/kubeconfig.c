// SPDX-License-Identifier: Apache-2.0
#include "watcher/kubeconfig.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <yaml.h>

struct document {
	yaml_document_t yaml;
	const struct kubeconfig_file *file;
};

struct chooser {
	struct document documents[KUBECONFIG_FILES_MAX];
	size_t count;
	char *problem; /* the first one */
};

/* A node and its document; node NULL: absent. */
struct node {
	struct document *document;
	yaml_node_t *node;
};

[[gnu::format(printf, 2, 3)]] static bool fail(struct chooser *c, const char *format, ...)
{
	va_list args;
	if (c->problem != NULL)
		return false;
	va_start(args, format);
	int len = vasprintf(&c->problem, format, args);
	va_end(args);
	must(len >= 0);
	return false;
}

/* ---- reading documents ---- */

static struct str text_of(const yaml_node_t *node)
{
	if (node == NULL || node->type != YAML_SCALAR_NODE)
		return STR_NONE;
	return (struct str){(const char *)node->data.scalar.value, node->data.scalar.length};
}

static bool is_null(const yaml_node_t *node)
{
	if (node == NULL)
		return true;
	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	struct str text = text_of(node);
	return text.len == 0 || str_eq_c(text, "null") || str_eq_c(text, "~");
}

/* A member of a mapping; absent if missing or null. */
static struct node get(struct node from, const char *name)
{
	struct node member = {.document = from.document};
	if (from.node == NULL || from.node->type != YAML_MAPPING_NODE)
		return member;
	must(from.document != NULL);
	yaml_node_pair_t *pair = from.node->data.mapping.pairs.start;
	yaml_node_pair_t *end = from.node->data.mapping.pairs.top;
	/* Bounds the work if many aliases refer to one huge mapping. */
	if (end - pair > KUBECONFIG_MEMBERS_MAX)
		end = pair + KUBECONFIG_MEMBERS_MAX;
	for (; pair < end; pair++) {
		yaml_document_t *yaml = &from.document->yaml;
		if (!str_eq_c(text_of(yaml_document_get_node(yaml, pair->key)), name))
			continue;
		member.node = yaml_document_get_node(yaml, pair->value);
		if (is_null(member.node))
			member.node = NULL;
		break;
	}
	return member;
}

/* A copy of a member's text; NULL if absent. False: of another type, or with a NUL inside. */
static bool get_text(struct chooser *c, struct node from, const char *name, char **ret_text)
{
	struct node member = get(from, name);
	struct str text = text_of(member.node);
	if (member.node == NULL)
		return true;
	must(from.document != NULL);
	if (text.p == NULL || str_find(text, '\0') != NULL)
		return fail(c, "%s: %s must be text", from.document->file->path, name);
	free(*ret_text);
	*ret_text = text.len != 0 ? str_dup(text) : NULL;
	return true;
}

static bool get_secret(struct chooser *c, struct node from, const char *name, struct secret *ret)
{
	struct node member = get(from, name);
	struct str text = text_of(member.node);
	if (member.node == NULL || (text.p != NULL && text.len == 0))
		return true;
	if (text.p == NULL || str_find(text, '\0') != NULL || secret_set(ret, text) != 0)
		return fail(c, "%s: %s must be text of at most %d bytes", from.document->file->path,
			name, SECRET_LEN_MAX);
	return true;
}

static bool get_flag(struct chooser *c, struct node from, const char *name, bool *ret_flag)
{
	struct node member = get(from, name);
	struct str text = text_of(member.node);
	if (member.node == NULL)
		return true;
	if (!str_eq_c(text, "true") && !str_eq_c(text, "false"))
		return fail(c, "%s: %s must be true or false", from.document->file->path, name);
	*ret_flag = str_eq_c(text, "true");
	return true;
}

/* A path; a relative one is relative to the folder of its file. */
static bool get_path(struct chooser *c, struct node from, const char *name, char **ret_path)
{
	char *text = NULL;
	if (!get_text(c, from, name, &text))
		return false;
	if (text != NULL && text[0] != '/') {
		char *whole = xasprintf("%s/%s", from.document->file->dir, text);
		free(text);
		text = whole;
	}
	free(*ret_path);
	*ret_path = text;
	return true;
}

/* base64 of PEM text, white space allowed. *ret_text is NUL-terminated and wiped by whoever frees it. */
static bool get_data(struct chooser *c, struct node from, const char *name, char **ret_text)
{
	struct node member = get(from, name);
	struct str text = text_of(member.node);
	if (member.node == NULL || (text.p != NULL && text.len == 0))
		return true;
	char *packed = xmalloc(text.len + 1);
	size_t len = 0;
	for (size_t i = 0; text.p != NULL && i < text.len; i++) {
		if (text.p[i] != '\n' && text.p[i] != '\r' && text.p[i] != ' ')
			packed[len++] = text.p[i];
	}
	char *plain = xcalloc(1, len / 4 * 3 + 1);
	int got = text.p == NULL || len % 4 != 0 ? -1
						 : EVP_DecodeBlock((unsigned char *)plain,
							   (const unsigned char *)packed, (int)len);
	/* Padding is decoded into NULs, which PEM text never contains. */
	bool is_good = got >= 0 && plain[0] != '\0';
	explicit_bzero(packed, text.len);
	free(packed);
	if (!is_good) {
		explicit_bzero(plain, len / 4 * 3);
		free(plain);
		return fail(c, "%s: %s is no base64 text", from.document->file->path, name);
	}
	free(*ret_text);
	*ret_text = plain;
	return true;
}

/* ---- lists ---- */

static bool check_list(struct chooser *c, struct node list, const char *name, ptrdiff_t max)
{
	if (list.node == NULL)
		return true;
	if (list.node->type != YAML_SEQUENCE_NODE)
		return fail(c, "%s: %s must be a list", list.document->file->path, name);
	if (list.node->data.sequence.items.top - list.node->data.sequence.items.start > max)
		return fail(c, "%s: %s has more than %td entries", list.document->file->path, name,
			max);
	return true;
}

static size_t count_of(struct node list)
{
	if (list.node == NULL)
		return 0;
	return (size_t)(list.node->data.sequence.items.top - list.node->data.sequence.items.start);
}

static struct node item_of(struct node list, size_t index)
{
	yaml_node_item_t item = list.node->data.sequence.items.start[index];
	return (struct node){list.document, yaml_document_get_node(&list.document->yaml, item)};
}

/* A member that is a list of texts; NULL-terminated. */
static bool get_texts(
	struct chooser *c, struct node from, const char *name, char ***ret_texts, size_t *ret_count)
{
	struct node list = get(from, name);
	if (!check_list(c, list, name, KUBECONFIG_ARGS_MAX))
		return false;
	size_t count = count_of(list);
	char **texts = xcalloc(count + 1, sizeof(*texts));
	*ret_texts = texts;
	for (size_t i = 0; i < count; i++) {
		struct str text = text_of(item_of(list, i).node);
		if (text.p == NULL || str_find(text, '\0') != NULL)
			return fail(
				c, "%s: %s[%zu] must be text", from.document->file->path, name, i);
		texts[(*ret_count)++] = str_dup(text);
	}
	return true;
}

/* The first entry of that name in any file: { name: ..., <member>: ... }. */
static bool find_entry(struct chooser *c, const char *list_name, const char *member,
	const char *name, struct node *ret_entry)
{
	for (size_t i = 0; i < c->count; i++) {
		struct document *document = &c->documents[i];
		struct node root = {document, yaml_document_get_root_node(&document->yaml)};
		struct node list = get(root, list_name);
		if (!check_list(c, list, list_name, KUBECONFIG_ENTRIES_MAX))
			return false;
		for (size_t at = 0; at < count_of(list); at++) {
			struct node entry = item_of(list, at);
			if (!str_eq_c(text_of(get(entry, "name").node), name))
				continue;
			*ret_entry = get(entry, member);
			/* An entry may have no content. */
			ret_entry->document = document;
			return true;
		}
	}
	return fail(c, "no %s is named \"%s\"", member, name);
}

/* ---- cluster and user ---- */

static bool read_cluster(struct chooser *c, struct node cluster, struct target *target)
{
	must(cluster.document != NULL);
	const char *path = cluster.document->file->path;
	char *server = NULL;
	if (!get_text(c, cluster, "server", &server) ||
		!get_text(c, cluster, "tls-server-name", &target->tls_server_name) ||
		!get_text(c, cluster, "proxy-url", &target->proxy_url) ||
		!get_flag(c, cluster, "insecure-skip-tls-verify", &target->insecure) ||
		!get_path(c, cluster, "certificate-authority", &target->ca_file) ||
		!get_data(c, cluster, "certificate-authority-data", &target->ca_data)) {
		free(server);
		return false;
	}
	target->server = server != NULL ? target_plain_url(str_from(server)) : NULL;
	free(server);
	if (target->server == NULL)
		return fail(c, "%s: the cluster's server must be an http:// or https:// URL", path);
	if (target->insecure && (target->ca_file != NULL || target->ca_data != NULL))
		return fail(c,
			"%s: insecure-skip-tls-verify and a certificate authority exclude each "
			"other",
			path);
	return true;
}

static bool read_exec_env(struct chooser *c, struct node from, struct target_exec *exec)
{
	struct node list = get(from, "env");
	if (!check_list(c, list, "env", KUBECONFIG_ARGS_MAX))
		return false;
	size_t count = count_of(list);
	exec->env = xcalloc(count + 1, sizeof(*exec->env));
	for (size_t i = 0; i < count; i++) {
		char *name = NULL;
		char *value = NULL;
		bool ok = get_text(c, item_of(list, i), "name", &name) &&
			  get_text(c, item_of(list, i), "value", &value);
		if (ok && (name == NULL || strchr(name, '=') != NULL))
			ok = fail(
				c, "%s: exec.env[%zu] needs a name", from.document->file->path, i);
		if (ok)
			exec->env[exec->env_count++] =
				xasprintf("%s=%s", name, value != NULL ? value : "");
		free(name);
		free(value);
		if (!ok)
			return false;
	}
	return true;
}

static bool read_exec(struct chooser *c, struct node from, struct target *target)
{
	const char *path = from.document->file->path;
	struct target_exec *exec = xcalloc(1, sizeof(*exec));
	target->exec = exec;
	char *mode = NULL;
	bool ok = get_text(c, from, "command", &exec->command) &&
		  get_text(c, from, "apiVersion", &exec->api_version) &&
		  get_text(c, from, "installHint", &exec->install_hint) &&
		  get_flag(c, from, "provideClusterInfo", &exec->provide_cluster_info) &&
		  get_text(c, from, "interactiveMode", &mode) &&
		  get_texts(c, from, "args", &exec->args, &exec->arg_count) &&
		  read_exec_env(c, from, exec);
	if (ok && mode != NULL && strcmp(mode, "Always") == 0)
		ok = fail(c,
			"%s: an exec plugin that must be interactive cannot be used by a daemon",
			path);
	free(mode);
	if (!ok)
		return false;
	if (exec->command == NULL)
		return fail(c, "%s: exec.command is missing", path);
	if (exec->api_version == NULL ||
		(strcmp(exec->api_version, "client.authentication.k8s.io/v1") != 0 &&
			strcmp(exec->api_version, "client.authentication.k8s.io/v1beta1") != 0))
		return fail(c,
			"%s: exec.apiVersion must be client.authentication.k8s.io/v1 or "
			".../v1beta1",
			path);
	if (strchr(exec->command, '/') != NULL && exec->command[0] != '/') {
		char *whole = xasprintf("%s/%s", from.document->file->dir, exec->command);
		free(exec->command);
		exec->command = whole;
	}
	return true;
}

static bool read_key(struct chooser *c, struct node user, struct target *target)
{
	char *key = NULL;
	if (!get_data(c, user, "client-key-data", &key))
		return false;
	if (key == NULL)
		return true;
	int err = secret_set(&target->key_data, str_from(key));
	explicit_bzero(key, strlen(key));
	free(key);
	return err == 0 || fail(c, "%s: client-key-data is too long", user.document->file->path);
}

/* These texts become header values. */
static bool is_header_text(const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	}
	return true;
}

static bool check_impersonation(struct chooser *c, struct node user, const struct target *target)
{
	bool ok = is_header_text(target->as_user) && is_header_text(target->as_uid);
	for (size_t i = 0; i < target->as_group_count; i++)
		ok = ok && is_header_text(target->as_groups[i]);
	if (!ok)
		return fail(c, "%s: as, as-uid and as-groups must be single lines",
			user.document->file->path);
	if (target->as_user == NULL && (target->as_uid != NULL || target->as_group_count != 0))
		return fail(c, "%s: as-uid and as-groups need as", user.document->file->path);
	return true;
}

static bool check_user(struct chooser *c, struct node user, const struct target *target)
{
	const char *path = user.document->file->path;
	bool has_token = secret_is_set(&target->token) || target->token_file != NULL;
	bool has_cert = target->cert_file != NULL || target->cert_data != NULL;
	bool has_key = target->key_file != NULL || secret_is_set(&target->key_data);
	if (has_token && target->username != NULL)
		return fail(c, "%s: a token and a user name exclude each other", path);
	if (has_cert != has_key)
		return fail(c, "%s: a client certificate and its key come together", path);
	if (get(user, "auth-provider").node != NULL)
		return fail(c, "%s: auth-provider is not supported; use an exec plugin", path);
	if (get(user, "as-user-extra").node != NULL)
		return fail(c, "%s: as-user-extra is not supported", path);
	return check_impersonation(c, user, target);
}

static bool read_user(struct chooser *c, struct node user, struct target *target)
{
	struct node exec = get(user, "exec");
	return get_secret(c, user, "token", &target->token) &&
	       get_path(c, user, "tokenFile", &target->token_file) &&
	       get_text(c, user, "username", &target->username) &&
	       get_secret(c, user, "password", &target->password) &&
	       get_path(c, user, "client-certificate", &target->cert_file) &&
	       get_data(c, user, "client-certificate-data", &target->cert_data) &&
	       get_path(c, user, "client-key", &target->key_file) && read_key(c, user, target) &&
	       get_text(c, user, "as", &target->as_user) &&
	       get_text(c, user, "as-uid", &target->as_uid) &&
	       get_texts(c, user, "as-groups", &target->as_groups, &target->as_group_count) &&
	       (exec.node == NULL || read_exec(c, exec, target)) && check_user(c, user, target);
}

/* ---- context ---- */

/* `context`, or the current context of the first file that has one; the caller frees it. */
static char *context_name(struct chooser *c, const char *context)
{
	char *name = context != NULL ? xstrdup(context) : NULL;
	for (size_t i = 0; i < c->count && name == NULL; i++) {
		struct document *document = &c->documents[i];
		struct node root = {document, yaml_document_get_root_node(&document->yaml)};
		if (!get_text(c, root, "current-context", &name))
			return NULL;
	}
	if (name == NULL)
		fail(c, "no current-context is set; name one with --context");
	return name;
}

static bool choose(struct chooser *c, const char *wanted, struct target *target)
{
	struct node context = {0};
	struct node cluster = {0};
	struct node user = {0};
	char *cluster_name = NULL;
	char *user_name = NULL;
	char *name = context_name(c, wanted);
	bool ok = name != NULL && find_entry(c, "contexts", "context", name, &context) &&
		  get_text(c, context, "cluster", &cluster_name) &&
		  get_text(c, context, "user", &user_name);
	if (ok && cluster_name == NULL)
		ok = fail(c, "context \"%s\" names no cluster", name);
	ok = ok && find_entry(c, "clusters", "cluster", cluster_name, &cluster) &&
	     read_cluster(c, cluster, target);
	/* kubectl loads no credentials for a plain http server either: they would be sent in the clear. */
	if (ok && user_name != NULL && target_is_https(target))
		ok = find_entry(c, "users", "user", user_name, &user) && read_user(c, user, target);
	must(!ok || context.document != NULL);
	if (ok)
		target->source =
			xasprintf("kubeconfig %s, context %s", context.document->file->path, name);
	free(name);
	free(cluster_name);
	free(user_name);
	return ok;
}

/* libyaml's time grows with the square of the depth of brackets. Those within text count, too: they are few. */
static bool is_flat_enough(struct str text)
{
	int depth = 0;
	for (size_t i = 0; i < text.len && depth <= KUBECONFIG_DEPTH_MAX; i++) {
		if (text.p[i] == '[' || text.p[i] == '{')
			depth++;
		else if ((text.p[i] == ']' || text.p[i] == '}') && depth > 0)
			depth--;
	}
	return depth <= KUBECONFIG_DEPTH_MAX;
}

static bool parse(struct chooser *c, const struct kubeconfig_file *file)
{
	struct document *document = &c->documents[c->count];
	yaml_parser_t parser;
	if (!is_flat_enough(file->text))
		return fail(c, "%s: nested too deeply", file->path);
	if (file->text.len > KUBECONFIG_LEN_MAX)
		return fail(c, "%s: longer than %d bytes", file->path, KUBECONFIG_LEN_MAX);
	must(yaml_parser_initialize(&parser) == 1);
	yaml_parser_set_input_string(&parser, (const unsigned char *)file->text.p, file->text.len);
	bool ok = yaml_parser_load(&parser, &document->yaml) == 1;
	if (ok) {
		document->file = file;
		c->count++;
	} else {
		fail(c, "%s: line %zu: no YAML: %s", file->path, parser.problem_mark.line + 1,
			parser.problem != NULL ? parser.problem : "not readable");
	}
	yaml_parser_delete(&parser);
	return ok;
}

char *kubeconfig_choose(const struct kubeconfig_file *files, size_t count, const char *context,
	struct target *ret_target)
{
	struct chooser c = {0};
	struct target target = {0};
	must(count <= KUBECONFIG_FILES_MAX);
	bool ok = true;
	for (size_t i = 0; i < count && ok; i++)
		ok = parse(&c, &files[i]);
	ok = ok && choose(&c, context, &target);
	for (size_t i = 0; i < c.count; i++)
		yaml_document_delete(&c.documents[i].yaml);
	if (ok)
		*ret_target = target;
	else
		target_fini(&target);
	return c.problem;
}
