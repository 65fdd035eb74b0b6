// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/config.h"

#include "common/pem_files.h"
#include "common/xalloc.h"
#include "provider-rancher/naming.h"
#include "provider-rancher/rancher_url.h"

#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
#define SECRET(member_, name_, env_, arg_, help_)           \
	{.name = (name_),                                   \
		.env = (env_),                              \
		.type = OPTION_STRING,                      \
		.offset = offsetof(struct config, member_), \
		.arg = (arg_),                              \
		.help = (help_),                            \
		.is_secret = true},
static const struct option_spec options[] = {
#include "provider-rancher/config.def"
#define FILTER_OPTIONS filter
#include "provider-common/filter.def"
#undef FILTER_OPTIONS
#include "common/common_options.def"
};
#undef OPTION
#undef SECRET

const struct option_table config_table = {
	.program = "sluice-provider-rancher",
	.summary = "Makes Rancher load balancers agree with what sluice-translator wants.",
	.details = "The keys are those that Rancher gives a container with the labels\n"
		   "io.rancher.container.create_agent=true and "
		   "io.rancher.container.agent.role=environmentAdmin,\n"
		   "or a pair of environment API keys. SIGHUP reads the files of keys and "
		   "certificates again.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};

static char *read_key(const char *text, const char *file, const char *what, struct secret *key)
{
	int err = file != NULL ? secret_load_file(key, file) : secret_set(key, str_from(text));
	if (err == 0)
		return NULL;
	if (file == NULL)
		return xasprintf("the %s is too long", what);
	return xasprintf("cannot read the %s from %s: %s", what, file, strerror(-err));
}

char *config_read_keys(const struct config *config, struct credentials *keys, bool *ret_changed)
{
	/* With several agent roles the plain pair may belong to another role. */
	bool has_admin =
		(config->admin_access_key != NULL || config->admin_access_key_file != NULL) &&
		(config->admin_secret_key != NULL || config->admin_secret_key_file != NULL);
	const char *access = has_admin ? config->admin_access_key : config->access_key;
	const char *access_file =
		has_admin ? config->admin_access_key_file : config->access_key_file;
	const char *secret = has_admin ? config->admin_secret_key : config->secret_key;
	const char *secret_file =
		has_admin ? config->admin_secret_key_file : config->secret_key_file;
	struct credentials new = {.access_key = {0}};
	char *problem = NULL;
	*ret_changed = false;
	/* Without access control Rancher needs no keys. */
	if (access != NULL || access_file != NULL)
		problem = read_key(access, access_file, "access key", &new.access_key);
	if (problem == NULL && (secret != NULL || secret_file != NULL))
		problem = read_key(secret, secret_file, "secret key", &new.secret_key);
	if (problem == NULL && secret_is_set(&new.access_key) != secret_is_set(&new.secret_key))
		problem = xstrdup("access key and secret key must be given together");
	if (problem != NULL) {
		credentials_fini(&new);
		return problem;
	}
	*ret_changed = !secret_eq(&new.access_key, &keys->access_key) ||
		       !secret_eq(&new.secret_key, &keys->secret_key);
	credentials_fini(keys);
	*keys = new;
	return NULL;
}

void credentials_fini(struct credentials *keys)
{
	secret_fini(&keys->access_key);
	secret_fini(&keys->secret_key);
}

static char *copy(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static char *read_tls(const struct config *config, struct http_peer *peer)
{
	const struct pem_pair pair = {.cert_path = config->cert_file, .key_path = config->key_file};
	char *key = NULL;
	char *problem = NULL;
	/* Passed as text, not as a path, so that everybody uses the same complete content. */
	if (config->ca_file != NULL)
		problem = pem_read_authorities(config->ca_file, &peer->ca_data);
	if (problem == NULL && config->cert_file != NULL)
		problem = pem_read_pair(&pair, &peer->cert_data, &key);
	if (key != NULL && secret_set(&peer->key_data, str_from(key)) != 0)
		problem = xasprintf("%s: the key is too long", config->key_file);
	pem_free(key);
	return problem;
}

struct http_peer *config_read_peer(const struct config *config, char **ret_problem)
{
	struct http_peer *peer = http_peer_new();
	peer->server_name = copy(config->server_name);
	peer->insecure = config->insecure;
	*ret_problem = read_tls(config, peer);
	if (*ret_problem == NULL)
		return peer;
	http_peer_release(peer);
	return NULL;
}

char *config_check(const struct config *config)
{
	const char *problem = NULL;
	if (config->url == NULL)
		return xstrdup("Rancher's address is missing: give --cattle-url or CATTLE_URL");
	char *base = rancher_url_base(str_from(config->url), &problem);
	free(base);
	if (base == NULL)
		/* The URL may contain a password. */
		return strchr(config->url, '@') != NULL
			       ? xasprintf("the address is no good: %s", problem)
			       : xasprintf("the address \"%.200s\" is no good: %s", config->url,
					 problem);
	if (!naming_is_valid(str_from(config->separator)))
		return xasprintf("the separator \"%.200s\" cannot stand in a name: letters, digits "
				 "and single dashes only",
			config->separator);
	if (!naming_is_valid(str_from(config->stack)))
		return xasprintf(
			"the stack \"%.200s\" cannot be a name in Rancher: at most 63 letters, "
			"digits and single dashes",
			config->stack);
	if ((config->cert_file == NULL) != (config->key_file == NULL))
		return xstrdup("--client-cert-file and --client-key-file must be given together");
	return NULL;
}
