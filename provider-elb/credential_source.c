// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/credential_source.h"

#include "common/ascii.h"
#include "common/xalloc.h"

static const char CONTAINER_HOST[] = "http://169.254.170.2";
static const char SESSION_NAME[] = "sluice-provider-elb";

void credential_source_fini(struct credential_source *source)
{
	free(source->text);
	free(source->role);
	free(source->session);
	free(source->token_file);
	free(source->url);
	secret_fini(&source->token);
	*source = (struct credential_source){0};
}

/* ---- addresses of containers ---- */

/* Host of an URL behind its scheme, with the brackets of an IPv6 address; empty: it has a user, or no host. */
static struct str host_of(struct str rest)
{
	size_t len = 0;
	if (rest.len != 0 && rest.p[0] == '[') {
		const char *end = str_find(rest, ']');
		return end != NULL ? (struct str){rest.p, (size_t)(end - rest.p) + 1} : STR("");
	}
	while (len < rest.len && strchr(":/?#@\\", rest.p[len]) == NULL)
		len++;
	for (size_t i = len; i < rest.len && rest.p[i] != '/'; i++) {
		if (rest.p[i] == '@')
			return STR("");
	}
	return (struct str){rest.p, len};
}

static bool is_loopback_v4(struct str host)
{
	if (!str_starts_with(host, STR("127.")))
		return false;
	for (size_t i = 0; i < host.len; i++) {
		if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
			return false;
	}
	return true;
}

bool credential_source_may_ask(struct str url)
{
	static const char *const hosts[] = {
		"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "[::1]", "localhost"};
	if (str_starts_with(url, STR("https://")))
		return host_of(str_skip(url, sizeof("https://") - 1)).len != 0;
	if (!str_starts_with(url, STR("http://")))
		return false;
	struct str host = host_of(str_skip(url, sizeof("http://") - 1));
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (str_eq_c(host, hosts[i]))
			return true;
	}
	return is_loopback_v4(host);
}

/* ---- each source ---- */

/* Characters of names of sessions. */
static bool is_session_name(struct str name)
{
	return name.len >= 2 && name.len <= 64 && ascii_is_made_of(name, "_+=,.@-");
}

static char *use_web_identity(struct credential_source *source, struct str role,
	struct str token_file, struct str session)
{
	source->kind = SOURCE_WEB_IDENTITY;
	source->text = xasprintf("web identity (role %.*s)", STR_FMT(role));
	source->role = str_dup(role);
	source->token_file = str_dup(token_file);
	source->session = session.p != NULL ? str_dup(session) : xstrdup(SESSION_NAME);
	if (is_session_name(str_from(source->session)))
		return NULL;
	return xasprintf("\"%s\" is no name for a session: 2 to 64 letters, digits and _+=,.@-",
		source->session);
}

static char *find_in_files(
	struct credential_source *source, const struct shared_files *files, bool *ret_is_found)
{
	const struct aws_profile *profile = &files->profile;
	*ret_is_found = true;
	if (profile->role.p != NULL && profile->token_file.p != NULL)
		return use_web_identity(
			source, profile->role, profile->token_file, profile->session);
	bool has_keys = profile->access_key.p != NULL || profile->secret_key.p != NULL;
	if (profile->unsupported.p != NULL && (profile->role.p != NULL || !has_keys))
		return xasprintf("the profile \"%s\" has %.*s, which only AWS's own tools support; "
				 "it needs keys, or "
				 "role_arn with web_identity_token_file",
			files->name, STR_FMT(profile->unsupported));
	*ret_is_found = has_keys;
	if (!has_keys)
		return NULL;
	source->kind = SOURCE_FILE;
	source->text = xasprintf("profile \"%s\" of the shared files", files->name);
	return NULL;
}

/* Beyond its environment variables nothing says that a machine is a container. */
static char *use_container(struct credential_source *source,
	const struct aws_environment *environment, const char *relative, const char *full)
{
	const char *token = aws_environment_get(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
	const char *token_file =
		aws_environment_get(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	source->kind = SOURCE_CONTAINER;
	source->url =
		relative != NULL ? xasprintf("%s%s", CONTAINER_HOST, relative) : xstrdup(full);
	/* The URL may contain a password. */
	source->text = strchr(source->url, '@') != NULL
			       ? xstrdup("container credentials")
			       : xasprintf("container credentials (%s)", source->url);
	if (token_file != NULL)
		source->token_file = xstrdup(token_file);
	else if (token != NULL && secret_set(&source->token, str_from(token)) != 0)
		return xstrdup("AWS_CONTAINER_AUTHORIZATION_TOKEN is too long");
	if (relative != NULL && relative[0] != '/')
		return xstrdup(
			"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash");
	if (relative == NULL && !credential_source_may_ask(str_from(full)))
		return xstrdup("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this "
			       "machine nor one of "
			       "169.254.170.2, 169.254.170.23 and [fd00:ec2::23]");
	return NULL;
}

static char *find_behind_files(
	struct credential_source *source, const struct aws_environment *environment)
{
	const char *relative =
		aws_environment_get(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = aws_environment_get(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	if (relative != NULL || full != NULL)
		return use_container(source, environment, relative, full);
	if (aws_environment_is_true(environment, "AWS_EC2_METADATA_DISABLED"))
		return xstrdup(
			"no credentials are configured, and AWS_EC2_METADATA_DISABLED forbids to "
			"ask "
			"instance metadata: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
			"AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE");
	source->kind = SOURCE_METADATA;
	source->text = xstrdup("instance metadata");
	return NULL;
}

char *credential_source_find(
	struct credential_source *source, const struct aws_environment *environment)
{
	const char *key = aws_environment_get(environment, "AWS_ACCESS_KEY_ID");
	const char *secret_key = aws_environment_get(environment, "AWS_SECRET_ACCESS_KEY");
	const char *token_file = aws_environment_get(environment, "AWS_WEB_IDENTITY_TOKEN_FILE");
	const char *role = aws_environment_get(environment, "AWS_ROLE_ARN");
	const char *session = aws_environment_get(environment, "AWS_ROLE_SESSION_NAME");
	struct shared_files files;
	bool is_found = false;
	*source = (struct credential_source){0};
	if (key != NULL || secret_key != NULL) {
		source->kind = SOURCE_ENVIRONMENT;
		source->text = xstrdup("environment");
		return key != NULL && secret_key != NULL
			       ? NULL
			       : xstrdup("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one "
					 "is set");
	}
	if (token_file != NULL)
		return role != NULL ? use_web_identity(source, str_from(role), str_from(token_file),
					      str_from(session))
				    : xstrdup("AWS_WEB_IDENTITY_TOKEN_FILE is set, and "
					      "AWS_ROLE_ARN is not");
	char *problem = shared_files_read(&files, environment);
	if (problem == NULL)
		problem = find_in_files(source, &files, &is_found);
	if (problem == NULL && !is_found)
		problem = find_behind_files(source, environment);
	shared_files_fini(&files);
	return problem;
}

/* ---- static keys ---- */

static const char *read_environment(
	const struct aws_environment *environment, struct key_set *ret_set)
{
	const char *token = aws_environment_get(environment, "AWS_SESSION_TOKEN");
	const char *end = aws_environment_get(environment, "AWS_CREDENTIAL_EXPIRATION");
	int64_t expires_at_s = 0;
	if (token == NULL)
		token = aws_environment_get(environment, "AWS_SECURITY_TOKEN");
	if (end != NULL && !key_set_parse_time(str_from(end), &expires_at_s))
		return "AWS_CREDENTIAL_EXPIRATION is no time";
	return key_set_make(str_from(aws_environment_get(environment, "AWS_ACCESS_KEY_ID")),
		str_from(aws_environment_get(environment, "AWS_SECRET_ACCESS_KEY")),
		str_from(token), expires_at_s, ret_set);
}

char *credential_source_read(const struct credential_source *source,
	const struct aws_environment *environment, struct key_set *ret_set)
{
	if (source->kind == SOURCE_ENVIRONMENT) {
		const char *problem = read_environment(environment, ret_set);
		return problem != NULL ? xasprintf("%s: %s", source->text, problem) : NULL;
	}
	struct shared_files files;
	char *problem = shared_files_read(&files, environment);
	const struct aws_profile *profile = &files.profile;
	if (problem == NULL) {
		const char *wrong = key_set_make(profile->access_key, profile->secret_key,
			profile->session_token, 0, ret_set);
		problem = wrong != NULL ? xasprintf("%s: %s", source->text, wrong) : NULL;
	}
	shared_files_fini(&files);
	return problem;
}
