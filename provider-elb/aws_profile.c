// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/aws_profile.h"

#include "common/ascii.h"

struct scanner {
	struct str rest;
	struct str section; /* the text between the brackets; absent: none yet */
	struct str parent;  /* the last key that is not nested */
};

struct setting {
	struct str key;
	struct str value;
	bool is_nested; /* indented: it belongs to scanner.parent */
};

/* ---- lines ---- */

static struct str next_line(struct str *rest)
{
	const char *end = str_find(*rest, '\n');
	struct str line = *rest;
	if (end != NULL)
		line.len = (size_t)(end - rest->p);
	*rest = str_skip(*rest, end != NULL ? line.len + 1 : line.len);
	return line;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Up to "#" or ";" with a blank before it. */
static struct str without_comment(struct str text)
{
	for (size_t i = 1; i < text.len; i++) {
		if ((text.p[i] == '#' || text.p[i] == ';') && is_blank(text.p[i - 1]))
			return str_trim((struct str){text.p, i});
	}
	return text;
}

/* The next setting, or the beginning of a section, which has no key. False: the end. */
static bool next_setting(struct scanner *scanner, struct setting *ret_setting)
{
	while (scanner->rest.len != 0) {
		struct str line = next_line(&scanner->rest);
		bool is_nested = line.len != 0 && is_blank(line.p[0]);
		line = str_trim(line);
		if (line.len == 0 || line.p[0] == '#' || line.p[0] == ';')
			continue;
		const char *bracket = str_find(line, ']');
		if (line.p[0] == '[' && bracket != NULL && !is_nested) {
			struct str inside = {line.p + 1, (size_t)(bracket - line.p) - 1};
			scanner->section = str_trim(inside);
			scanner->parent = STR_NONE;
			*ret_setting = (struct setting){0};
			return true;
		}
		const char *equals = str_find(line, '=');
		if (equals == NULL || scanner->section.p == NULL)
			continue;
		size_t key_len = (size_t)(equals - line.p);
		ret_setting->key = str_trim((struct str){line.p, key_len});
		ret_setting->value = without_comment(str_trim(str_skip(line, key_len + 1)));
		ret_setting->is_nested = is_nested;
		if (!is_nested)
			scanner->parent = ret_setting->key;
		return true;
	}
	return false;
}

/* ---- sections ---- */

/* "kind name", where the name may stand in quotes. */
static bool is_section(struct str section, struct str kind, struct str name)
{
	if (!str_starts_with(section, kind) || section.len == kind.len ||
		!is_blank(section.p[kind.len]))
		return false;
	struct str got = str_trim(str_skip(section, kind.len));
	if (got.len >= 2 && (got.p[0] == '"' || got.p[0] == '\'') && got.p[got.len - 1] == got.p[0])
		got = (struct str){got.p + 1, got.len - 2};
	return str_eq(got, name);
}

static bool is_profile(struct str section, struct str name, enum aws_profile_file file)
{
	if (file == AWS_PROFILE_CREDENTIALS)
		return section.p != NULL && str_eq(section, name);
	return is_section(section, STR("profile"), name) ||
	       (str_eq_c(name, "default") && str_eq_c(section, "default"));
}

static struct str *member_of(struct aws_profile *profile, struct str key)
{
	const struct {
		const char *key;
		struct str *member;
	} members[] = {
		{"aws_access_key_id", &profile->access_key},
		{"aws_secret_access_key", &profile->secret_key},
		{"aws_session_token", &profile->session_token},
		{"region", &profile->region},
		{"role_arn", &profile->role},
		{"web_identity_token_file", &profile->token_file},
		{"role_session_name", &profile->session},
		{"endpoint_url", &profile->endpoint_url},
		{"services", &profile->services},
	};
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (str_eq_c(key, members[i].key))
			return members[i].member;
	}
	return NULL;
}

static bool is_unsupported(struct str key)
{
	static const char *const keys[] = {"credential_process", "credential_source",
		"source_profile", "sso_session", "sso_start_url", "login_session"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (str_eq_c(key, keys[i]))
			return true;
	}
	return false;
}

void aws_profile_read(
	struct aws_profile *profile, struct str name, struct str text, enum aws_profile_file file)
{
	struct scanner scanner = {.rest = text};
	struct setting setting;
	while (next_setting(&scanner, &setting)) {
		if (!is_profile(scanner.section, name, file))
			continue;
		profile->is_found = true;
		if (setting.key.p == NULL || setting.is_nested || setting.value.len == 0)
			continue;
		struct str *member = member_of(profile, setting.key);
		if (member != NULL)
			*member = setting.value;
		else if (is_unsupported(setting.key))
			profile->unsupported = setting.key;
	}
}

/* By the end of the name of its variable: "ELASTIC_LOAD_BALANCING_V2" is elastic_load_balancing_v2 in the file. */
static bool is_service(enum aws_service service, struct str key)
{
	struct str id = str_from(service_of(service)->endpoint_env);
	id = str_skip(id, sizeof("AWS_ENDPOINT_URL_") - 1);
	return id.len != 0 && ascii_eq_nocase(id, key);
}

void aws_profile_read_services(struct aws_profile *profile, struct str text)
{
	struct scanner scanner = {.rest = text};
	struct setting setting;
	if (profile->services.p == NULL)
		return;
	while (next_setting(&scanner, &setting)) {
		if (!is_section(scanner.section, STR("services"), profile->services) ||
			!setting.is_nested || !str_eq_c(setting.key, "endpoint_url") ||
			setting.value.len == 0)
			continue;
		for (enum aws_service i = 0; i < AWS_SERVICE_COUNT; i++) {
			if (is_service(i, scanner.parent))
				profile->service_urls[i] = setting.value;
		}
	}
}
