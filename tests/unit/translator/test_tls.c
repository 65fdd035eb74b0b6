// SPDX-License-Identifier: Apache-2.0
#include "translator/tls.h"

#include "tests/unit/translator/help.h"

enum { NOW = 1000000, DAY = 86400 };

static const struct str a_names[] = {STR("a.example.com")};
static const struct str wild_names[] = {STR("*.example.com")};

static const struct {
	const char *name;
	struct tls_secret secret;
} secrets[] = {
	{"ns/a",
		{.names = a_names, .name_count = 1, .not_before = 1, .not_after = NOW + 100 * DAY}},
	{"ns/wild", {.names = wild_names,
			    .name_count = 1,
			    .not_before = 1,
			    .not_after = NOW + 100 * DAY}},
	{"ns/expired", {.names = a_names, .name_count = 1, .not_before = 1, .not_after = NOW}},
	{"ns/soon", {.names = a_names, .name_count = 1, .not_before = 1, .not_after = NOW + DAY}},
	{"ns/later", {.names = a_names,
			     .name_count = 1,
			     .not_before = NOW + TLS_SKEW_S + 1,
			     .not_after = NOW + 99 * DAY}},
	{"ns/new", {.names = a_names,
			   .name_count = 1,
			   .not_before = NOW + TLS_SKEW_S,
			   .not_after = NOW + 99 * DAY}},
	{"ns/broken", {.problem = "tls.crt holds no certificate"}},
	{"admin/default", {.names = wild_names,
				  .name_count = 1,
				  .not_before = 1,
				  .not_after = NOW + 100 * DAY}},
};

static const struct tls_secret *find(void *ctx, struct str namespace, struct str name)
{
	static const struct tls_secret missing = {.problem = ""};
	char key[64];
	(void)ctx;
	snprintf(key, sizeof(key), "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
	for (size_t i = 0; i < COUNT_OF(secrets); i++) {
		if (strcmp(secrets[i].name, key) == 0)
			return &secrets[i].secret;
	}
	return &missing;
}

struct row {
	const char *name;
	struct {
		const char *secret;
		const char *hosts[3];
	} entries[3];
	const char *default_name;
	bool not_synced;
	const char *ids;
	const char *reasons;
};

static const struct row rows[] = {
	{"nothing", .ids = "", .reasons = ""},
	{"one", {{"a", {"a.example.com"}}}, .ids = "ns/a", .reasons = ""},
	{"two", {{"wild", {"b.example.com"}}, {"a", {"a.example.com"}}}, .ids = "ns/wild ns/a",
		.reasons = ""},
	{"without hosts", {{"a"}}, .ids = "ns/a", .reasons = ""},
	{"missing", {{"gone", {"b.example.com"}}, {"a", {"a.example.com"}}}, .ids = "ns/a",
		.reasons = "SecretNotFound"},
	{"broken", {{"broken"}}, .ids = "", .reasons = "InvalidSecret"},
	{"not synced", {{"gone"}}, .not_synced = true, .ids = "", .reasons = "SecretsNotReadable"},
	{"names that do not fit", {{"a", {"a.example.com", "b.example.com"}}}, .ids = "ns/a",
		.reasons = "CertificateNameMismatch"},
	{"a wildcard fits one label", {{"wild", {"x.example.com", "*.example.com"}}},
		.ids = "ns/wild", .reasons = ""},
	{"and no more", {{"wild", {"example.com", "a.b.example.com"}}}, .ids = "ns/wild",
		.reasons = "CertificateNameMismatch"},
	{"expired", {{"expired"}}, .ids = "ns/expired", .reasons = "CertificateExpired"},
	{"expires", {{"soon"}}, .ids = "ns/soon", .reasons = "CertificateExpires"},
	{"not yet valid", {{"later"}}, .ids = "ns/later", .reasons = "CertificateNotYetValid"},
	{"by a clock that is ahead", {{"new"}}, .ids = "ns/new", .reasons = ""},
	{"no name, no default", {{""}}, .ids = "", .reasons = "NoCertificate"},
	{"no name, a default", {{""}}, "default", .ids = "", .reasons = ""},
	{"no name, a default that is gone", {{""}}, "gone", .ids = "", .reasons = "NoCertificate"},
};

static struct plan plan_of(struct arena *arena, const struct row *row)
{
	struct plan plan = {.self = {STR("ns"), STR("web"), STR("u")}};
	plan.tls.items = arena_calloc(arena, 3, sizeof(struct plan_tls));
	while (plan.tls.count < 3 && row->entries[plan.tls.count].secret != NULL) {
		size_t i = plan.tls.count++;
		struct plan_tls *entry = &plan.tls.items[i];
		*entry = (struct plan_tls){
			.secret = str_from(row->entries[i].secret), .position = i};
		entry->hosts.items = arena_calloc(arena, 3, sizeof(struct str));
		while (entry->hosts.count < 3 &&
			row->entries[i].hosts[entry->hosts.count] != NULL) {
			entry->hosts.items[entry->hosts.count] =
				str_from(row->entries[i].hosts[entry->hosts.count]);
			entry->hosts.count++;
		}
	}
	return plan;
}

static struct tls_context context_of(const struct row *row)
{
	return (struct tls_context){.find = find,
		.secrets_are_synced = !row->not_synced,
		.default_namespace = STR("admin"),
		.default_name = str_from(row->default_name),
		.now_s = NOW,
		.warn_s = 14 * DAY};
}

static void check(const struct row *row)
{
	struct arena arena;
	struct diag_list diags;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	struct plan plan = plan_of(&arena, row);
	struct tls_context context = context_of(row);
	struct tls_list list = {.arena = &arena};
	struct str ids = STR("");
	tls_collect(&plan, &context, &list);
	for (size_t i = 0; i < list.count; i++)
		ids = arena_printf(&arena, "%.*s%s%.*s", STR_FMT(ids), i != 0 ? " " : "",
			STR_FMT(list.ids[i]));
	tls_check(&plan, &context, &diags);
	const char *reasons = reasons_of(&diags);
	if (!str_eq_c(ids, row->ids) || strcmp(reasons, row->reasons) != 0)
		fail_msg("%s: ids %.*s, %s", row->name, STR_FMT(ids), reasons);
	if (list.count != 0)
		assert_true(str_eq(list.first, list.ids[0]));
	arena_fini(&arena);
}

static void certificates_and_what_is_told_of_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check(&rows[i]);
}

static void the_next_change_is_foreseen(void **state)
{
	static const struct row row = {"x"};
	struct tls_context context = context_of(&row);
	struct tls_secret secret = {
		.not_before = NOW + TLS_SKEW_S + 10, .not_after = NOW + 100 * DAY};
	(void)state;
	assert_int_equal(tls_next_change(&secret, &context), NOW + 10);
	context.now_s = NOW + 10;
	assert_int_equal(tls_next_change(&secret, &context), NOW + 86 * DAY);
	context.now_s = NOW + 86 * DAY;
	assert_int_equal(tls_next_change(&secret, &context), NOW + 100 * DAY);
	context.now_s = NOW + 100 * DAY;
	assert_true(tls_next_change(&secret, &context) == INT64_MAX);
	secret.problem = "";
	context.now_s = 0;
	assert_true(tls_next_change(&secret, &context) == INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificates_and_what_is_told_of_them),
		cmocka_unit_test(the_next_change_is_foreseen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
