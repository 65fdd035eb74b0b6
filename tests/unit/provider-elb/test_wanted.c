// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/wanted.h"

#include "provider-elb/priorities.h"
#include "tests/unit/provider-elb/wanted_fixture.h"

#define RUN(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

/* ---- rules ---- */

static void rules_are_in_order_of_precedence(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	f->lb.default_pool = STR("d");
	fixture_rule(f, "", PATH_PREFIX, "/", "x");
	fixture_rule(f, "*.example.com", PATH_PREFIX, "/", "w");
	fixture_rule(f, "*.b.example.com", PATH_PREFIX, "/", "v");
	fixture_rule(f, "foo.com", PATH_EXACT, "/api", "b");
	/* Within a host the order is as given: the translator has put it there. */
	fixture_rule(f, "foo.com", PATH_PREFIX, "/", "a");
	fixture_rule(f, "foo.com", PATH_PREFIX, "/api/v1", "c");
	fixture_rule(f, "bar.com", PATH_PREFIX, "/", "e");
	assert_string_equal(fixture_rules(f),
		"80 HTTP: h=bar.com>e; h=foo.com p=/api>b; h=foo.com>a;"
		" h=foo.com p=/api/v1|/api/v1/*>c;"
		" h~^[^.]+\\.b\\.example\\.com$>v; h~^[^.]+\\.example\\.com$>w; p=/*>x; >d\n");
	static const uint64_t bands[] = {BAND_EXACT, BAND_EXACT, BAND_EXACT, BAND_EXACT,
		BAND_WILDCARD, BAND_WILDCARD, BAND_ANY};
	const struct elb_listener *listener = &f->wanted.balancers[0].listeners.items[0];
	for (size_t i = 0; i < listener->rules.count; i++) {
		assert_int_equal(listener->rules.items[i].band, bands[i]);
		assert_int_equal(listener->rules.items[i].priority, 0);
		assert_string_equal(listener->rules.items[i].ingress.p, "default/web");
	}
	assert_string_equal(listener->rules.items[1].where.p, "foo.com/api");
	assert_string_equal(fixture_notices(f), "");
}

/* Protocol: "There is no fallback from a host to its wildcard." */
static void a_host_is_ended_where_another_would_take_the_rest(void **fixture)
{
	static const struct {
		const char *rules[4][2]; /* host, path */
		const char *want;
	} cases[] = {
		{{{"a.b.com", "/x"}}, " h=a.b.com p=/x|/x/*>p;"},
		{{{"a.b.com", "/x"}, {"c.b.com", "/"}}, " h=a.b.com p=/x|/x/*>p; h=c.b.com>p;"},
		{{{"a.b.com", "/x"}, {"*.b.com", "/"}},
			" h=a.b.com p=/x|/x/*>p; h=a.b.com>404; h~^[^.]+\\.b\\.com$>p;"},
		{{{"a.b.com", "/"}, {"*.b.com", "/"}}, " h=a.b.com>p; h~^[^.]+\\.b\\.com$>p;"},
		/* The wildcard is for one label only. */
		{{{"z.a.b.com", "/x"}, {"*.b.com", "/"}},
			" h=z.a.b.com p=/x|/x/*>p; h~^[^.]+\\.b\\.com$>p;"},
		{{{"a.b.com", "/x"}, {"", "/y"}},
			" h=a.b.com p=/x|/x/*>p; h=a.b.com>404; p=/y|/y/*>p;"},
		{{{"*.b.com", "/x"}, {"", "/"}},
			" h~^[^.]+\\.b\\.com$ p=/x|/x/*>p; h~^[^.]+\\.b\\.com$>404; p=/*>p;"},
		{{{"*.b.com", "/x"}, {"*.com", "/"}},
			" h~^[^.]+\\.b\\.com$ p=/x|/x/*>p; h~^[^.]+\\.com$>p;"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		void *state;
		char want[512];
		fixture_set_up(&state);
		struct fixture *f = state;
		fixture_listen(f, LISTENER_HTTP, 80);
		for (size_t k = 0; k < 4 && cases[i].rules[k][0] != NULL; k++)
			fixture_rule(
				f, cases[i].rules[k][0], PATH_PREFIX, cases[i].rules[k][1], "p");
		snprintf(want, sizeof(want), "80 HTTP:%s >404\n", cases[i].want);
		assert_string_equal(fixture_rules(f), want);
		fixture_tear_down(&state);
	}
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_rule(f, "a.b.com", PATH_PREFIX, "/x", "p");
	fixture_rule(f, "", PATH_PREFIX, "/", "any");
	f->lb.default_pool = STR("d");
	assert_string_equal(
		fixture_rules(f), "80 HTTP: h=a.b.com p=/x|/x/*>p; h=a.b.com>d; p=/*>any; >d\n");
}

/* As none of its words are claimed, none of these is ever sent. */
static void rules_with_more_than_a_pool_are_ignored(void **fixture)
{
	struct fixture *f = *fixture;
	struct condition condition = {.subject = CONDITION_METHOD, .value = STR("GET")};
	struct weighted_pool pool = {STR("x"), 1};
	struct redirect redirect = {.status = 302};
	struct fixed_answer answer = {.status = 200};
	fixture_listen(f, LISTENER_HTTP, 80);
	struct path_rule *rule = fixture_rule(f, "a.com", PATH_PREFIX, "/if", "x");
	rule->conditions.items = &condition;
	rule->conditions.count = 1;
	rule = fixture_rule(f, "a.com", PATH_PREFIX, "/weights", "");
	rule->pools.items = &pool;
	rule->pools.count = 1;
	fixture_rule(f, "a.com", PATH_PREFIX, "/redirect", "")->redirect = &redirect;
	fixture_rule(f, "a.com", PATH_PREFIX, "/answer", "")->answer = &answer;
	fixture_rule(f, "a.com", PATH_PREFIX, "/policy", "x")->policy = STR("y");
	fixture_rule(f, "a.com", PATH_PREFIX, "/regex", "x")->regex = STR("^/r");
	fixture_rule(f, "a.com", PATH_PREFIX, "/plain", "x");
	assert_string_equal(fixture_rules(f), "80 HTTP: h=a.com p=/plain|/plain/*>x; >404\n");
}

static void rules_for_tls_only_are_not_known_to_plain_http(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_listen(f, LISTENER_HTTPS, 443);
	fixture_rule(f, "a.com", PATH_PREFIX, "/x", "x");
	fixture_rule(f, "a.com", PATH_PREFIX, "/", "p")->tls_only = true;
	assert_string_equal(fixture_rules(f), "80 HTTP: h=a.com p=/x|/x/*>x; >404\n"
					      "443 HTTPS: h=a.com p=/x|/x/*>x; h=a.com>p; >404\n");
	/* No redirect is made up when all of them are; and the host stays closed to others. */
	f->rules[0][0].tls_only = true;
	fixture_rule(f, "", PATH_PREFIX, "/", "any");
	assert_string_equal(fixture_rules(f),
		"80 HTTP: h=a.com>404; p=/*>any; >404\n"
		"443 HTTPS: h=a.com p=/x|/x/*>x; h=a.com>p; p=/*>any; >404\n");
}

static void wildcards_as_patterns_are_cut_off(void **fixture)
{
	struct fixture *f = *fixture;
	f->settings.wildcard_hosts = WILDCARD_GLOB;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_rule(f, "*.example.com", PATH_PREFIX, "/a", "p");
	fixture_rule(f, "*.b.example.com", PATH_PREFIX, "/", "q");
	fixture_rule(f, "a.b.example.com", PATH_PREFIX, "/", "r");
	assert_string_equal(fixture_rules(f),
		"80 HTTP: h=a.b.example.com>r; h=*.*.b.example.com>404; h=*.b.example.com>q;"
		" h=*.*.example.com>404; h=*.example.com p=/a|/a/*>p; >404\n");
	assert_string_equal(
		fixture_notices(f), "HostMatchWidened@default/web: *.b.example.com, *.example.com");
	f->settings.wildcard_hosts = WILDCARD_REFUSE;
	assert_string_equal(fixture_rules(f), "80 HTTP: h=a.b.example.com>r; >404\n");
	assert_string_equal(fixture_notices(f),
		"WildcardHostNotSupported@default/web: *.b.example.com/, *.example.com/a");
}

static void what_cannot_be_said_is_left_out_and_told(void **fixture)
{
	struct fixture *f = *fixture;
	char path[200];
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[130] = '\0';
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_listen(f, LISTENER_HTTPS, 443);
	fixture_rule(f, "a.com", PATH_PREFIX, "/a b", "p");
	fixture_rule(f, "a.com", PATH_PREFIX, path, "p");
	fixture_rule(f, "a.com", PATH_PREFIX, "/", "p");
	fixture_rule(f, "a b.com", PATH_PREFIX, "/", "p");
	fixture_rule(f, "*", PATH_PREFIX, "/", "p")->ingress = STR("other/x");
	assert_string_equal(fixture_rules(f), "80 HTTP: h=a.com>p; >404\n"
					      "443 HTTPS: h=a.com>p; >404\n");
	char want[512];
	snprintf(want, sizeof(want),
		"HostNotSupported@default/web: a b.com/; HostNotSupported@other/x: */; "
		"PathNotSupported@default/web: a.com/a b; PathTooLong@default/web: a.com%s",
		path);
	assert_string_equal(fixture_notices(f), want);
}

static void the_port_may_be_part_of_the_host(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 8080);
	fixture_rule(f, "a.com", PATH_PREFIX, "/", "p");
	fixture_rule(f, "*.a.com", PATH_PREFIX, "/", "q");
	assert_string_equal(fixture_rules(f), "8080 HTTP: h~^a\\.com(:[0-9]+)?$>p;"
					      " h~^[^.]+\\.a\\.com(:[0-9]+)?$>q; >404\n");
	assert_string_equal(fixture_notices(f), "");
	f->settings.wildcard_hosts = WILDCARD_REFUSE;
	assert_string_equal(fixture_rules(f), "8080 HTTP: h=a.com>p; >404\n");
	assert_string_equal(fixture_notices(f), "WildcardHostNotSupported@default/web: *.a.com/; "
						"HostPortNotCompared@default/web: port 8080");
}

static void identities_are_unique_and_stay(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_rule(f, "a.com", PATH_PREFIX, "/a", "p");
	fixture_rule(f, "a.com", PATH_PREFIX, "/a", "q");
	fixture_rule(f, "a.com", PATH_EXACT, "/a", "r");
	assert_string_equal(
		fixture_rules(f), "80 HTTP: h=a.com p=/a|/a/*>p; h=a.com p=/a>r; >404\n");
	struct str before = f->wanted.balancers[0].listeners.items[0].rules.items[0].identity;
	fixture_rule(f, "", PATH_PREFIX, "/", "z");
	f->rules[0][0].pool = STR("q");
	fixture_make(f);
	assert_true(
		str_eq(before, f->wanted.balancers[0].listeners.items[0].rules.items[0].identity));
}

static void quotas_leave_out_the_least_preferred(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_listen(f, LISTENER_HTTPS, 443);
	fixture_rule(f, "a.com", PATH_PREFIX, "/a", "a");
	fixture_rule(f, "a.com", PATH_PREFIX, "/b", "b")->tls_only = true;
	fixture_rule(f, "", PATH_PREFIX, "/c", "c")->ingress = STR("other/x");
	f->settings.rules_max = 4;
	assert_string_equal(fixture_rules(f), "80 HTTP: h=a.com p=/a|/a/*>a; h=a.com>404; >404\n"
					      "443 HTTPS: h=a.com p=/a|/a/*>a;"
					      " h=a.com p=/b|/b/*>b; >404\n");
	assert_string_equal(fixture_notices(f),
		"RuleQuota@default/web: a.com (other paths) (port 443); "
		"RuleQuota@other/x: /c (port 443), /c (port 80)");
	f->settings.rules_max = 0;
	assert_string_equal(fixture_rules(f), "80 HTTP: >404\n443 HTTPS: >404\n");
}

static void thousands_of_rules_end(void **fixture)
{
	struct fixture *f = *fixture;
	enum { COUNT = WANTED_RULES_MAX + 10 };
	struct path_rule *rules = arena_calloc(&f->arena, COUNT, sizeof(*rules));
	fixture_listen(f, LISTENER_HTTP, 80);
	f->settings.rules_max = UINT64_MAX;
	f->settings.groups_max = 3;
	for (size_t i = 0; i < COUNT; i++)
		rules[i] = (struct path_rule){.path = arena_printf(&f->arena, "/%zu", i),
			.pool = i % 2 == 0 ? STR("p") : arena_printf(&f->arena, "%zu", i),
			.ingress = STR("default/web")};
	f->hosts[f->host_count++] =
		(struct virtual_host){.match = HOST_ANY, .rules = {rules, COUNT}};
	fixture_make(f);
	const struct wanted_balancer *balancer = &f->wanted.balancers[0];
	assert_int_equal(balancer->listeners.items[0].rules.count, WANTED_RULES_MAX);
	assert_int_equal(balancer->groups.count, 3);
	assert_int_equal(f->wanted.notices.count, WANTED_NOTICES_MAX);
	assert_string_equal(f->wanted.notices.items[0].reason.p, "TooManyRules");
	assert_string_equal(
		f->wanted.notices.items[WANTED_NOTICES_MAX - 1].reason.p, "MoreNotices");
}

/* ---- listeners ---- */

static void listeners_go_to_the_balancer_that_can_carry_them(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTPS, 443);
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_listen(f, LISTENER_TCP, 5432)->pool = STR("db");
	fixture_listen(f, LISTENER_TCP, 80)->pool = STR("raw");
	f->lb.default_pool = STR("d");
	assert_string_equal(
		fixture_rules(f), "80 HTTP: >d\n443 HTTPS: >d\n80 TCP: >raw\n5432 TCP: >db\n");
	assert_int_equal(f->wanted.count, 2);
	const struct wanted_balancer *alb = &f->wanted.balancers[0];
	const struct wanted_balancer *nlb = &f->wanted.balancers[1];
	assert_int_equal(alb->type, ELB_APPLICATION);
	assert_int_equal(nlb->type, ELB_NETWORK);
	assert_string_equal(alb->identity.p, "default/web/alb");
	assert_string_equal(nlb->identity.p, "default/web/nlb");
	assert_string_equal(alb->owner.p, "default/web");
	assert_string_equal(alb->lb.p, "default/web");
	assert_false(str_eq(alb->name, nlb->name));
	assert_false(str_eq(alb->digest, nlb->digest));
	assert_int_equal(alb->digest.len, 16);
	assert_string_equal(alb->listeners.items[1].identity.p, "default/web/listener/443");
	assert_string_equal(alb->listeners.items[1].ssl_policy.p, f->settings.ssl_policy.p);
	assert_null(alb->listeners.items[0].ssl_policy.p);
}

static void nothing_is_wanted_without_listeners(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_rule(f, "a.com", PATH_PREFIX, "/", "p");
	fixture_make(f);
	assert_int_equal(f->wanted.count, 0);
	fixture_listen(f, LISTENER_HTTP, 80);
	f->lb.keep = true;
	fixture_make(f);
	assert_int_equal(f->wanted.count, 0);
	f->lb.keep = false;
	f->lb.absent = true;
	fixture_make(f);
	assert_int_equal(f->wanted.count, 0);
	f->lb.absent = false;
	fixture_make(f);
	assert_int_equal(f->wanted.count, 1);
}

static void listeners_that_cannot_be_had_are_told(void **fixture)
{
	struct fixture *f = *fixture;
	static struct str ranges[] = {STR("10.0.0.0/8")};
	fixture_listen(f, LISTENER_HTTP, 80)->source_ranges = (struct str_list){ranges, 1};
	fixture_listen(f, LISTENER_HTTP, 81)->address = STR("10.0.0.1");
	fixture_listen(f, LISTENER_HTTP, 82);
	fixture_listen(f, LISTENER_HTTPS, 82);
	fixture_listen(f, LISTENER_TCP, 83)->pool = STR("unknown");
	fixture_listen(f, LISTENER_TCP, 84);
	assert_string_equal(fixture_rules(f), "82 HTTP: >404\n");
	/* It stays if it is there, but nothing can be served. */
	assert_int_equal(f->wanted.count, 2);
	assert_int_equal(f->wanted.balancers[1].listeners.count, 0);
	assert_string_equal(fixture_notices(f),
		"SourceRangesNotSupported: port 80; ListenerAddressNotSupported: 10.0.0.1 port 81; "
		"ListenerNotSupported: port 82; NoBackend: port 83, port 84");
}

static struct virtual_host *pass_through(struct fixture *f, const char *host, const char *pool)
{
	fixture_rule(f, host, PATH_PREFIX, "/", pool);
	struct virtual_host *added = &f->hosts[f->host_count - 1];
	added->passthrough = true;
	return added;
}

static void the_first_host_has_the_port_where_tls_is_passed_through(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_TLS_PASSTHROUGH, 443);
	fixture_listen(f, LISTENER_HTTP, 80);
	pass_through(f, "b.com", "b");
	pass_through(f, "a.com", "a");
	pass_through(f, "*.c.com", "c");
	fixture_rule(f, "d.com", PATH_PREFIX, "/", "d");
	assert_string_equal(fixture_rules(f), "80 HTTP: h=d.com>d; >404\n443 TCP: >c\n");
	assert_string_equal(
		fixture_notices(f), "PassthroughNotSupported@default/web: b.com, a.com");
	f->hosts[2].key.id = STR("default/web|z");
	assert_string_equal(fixture_rules(f), "80 HTTP: h=d.com>d; >404\n443 TCP: >a\n");
	f->rules[1][0].pool = STR("unknown");
	assert_string_equal(fixture_rules(f), "80 HTTP: h=d.com>d; >404\n");
	assert_string_equal(fixture_notices(f),
		"PassthroughNotSupported@default/web: b.com, *.c.com; "
		"NoBackend@default/web: port 443");
}

static void tls_is_not_passed_through_where_it_is_ended(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTPS, 443);
	pass_through(f, "b.com", "b");
	assert_string_equal(fixture_rules(f), "443 HTTPS: >404\n");
	assert_string_equal(fixture_notices(f), "PassthroughNotSupported@default/web: b.com");
}

/* ---- certificates ---- */

/* "default + others", "waits", or "none". */
static const char *certificates(struct fixture *f)
{
	fixture_make(f);
	assert_int_equal(f->wanted.count, 1);
	const struct wanted_balancer *balancer = &f->wanted.balancers[0];
	if (balancer->listeners.count == 0)
		return balancer->waits_for_certificates ? "waits" : "none";
	assert_false(balancer->waits_for_certificates);
	const struct elb_listener *listener = &balancer->listeners.items[0];
	fixture_print(f, "%.*s", STR_FMT(listener->default_certificate));
	for (size_t i = 0; i < listener->certificates.count; i++)
		fixture_print(f, "%s%.*s", i == 0 ? " + " : ", ",
			STR_FMT(listener->certificates.items[i]));
	return f->text;
}

static void a_listener_has_the_certificates_that_are_there(void **fixture)
{
	static const struct {
		const char *first;
		const char *others[4];
		const char *fallback;
		const char *want;
		const char *notices;
	} cases[] = {
		{"a", {NULL}, NULL, "arn:a", ""},
		{"a", {"c", "b", "a"}, NULL, "arn:a + arn:b, arn:c", ""},
		{"a", {"b", "b"}, NULL, "arn:a + arn:b", ""},
		{"", {"c", "b"}, NULL, "arn:c + arn:b", ""},
		{"waits", {"c", "b"}, NULL, "arn:c + arn:b", ""},
		{"a", {"waits", "b"}, NULL, "arn:a + arn:b", ""},
		{"refused", {"c", "b"}, NULL, "arn:c + arn:b",
			"CertificateNotInAcm@refused: refused"},
		{"waits", {"refused"}, NULL, "waits", "CertificateNotInAcm@refused: refused"},
		/* It would show the wrong one for a moment. */
		{"waits", {NULL}, "arn:fallback", "waits", ""},
		{"refused", {NULL}, "arn:fallback", "arn:fallback",
			"CertificateNotInAcm@refused: refused"},
		{"", {NULL}, "arn:fallback", "arn:fallback", ""},
		{"a", {NULL}, "arn:fallback", "arn:a", ""},
		{"", {NULL}, NULL, "none", "NoCertificate: port 443"},
		{"refused", {NULL}, NULL, "none",
			"NoCertificate: port 443; CertificateNotInAcm@refused: refused"},
		{"a", {"e", "d", "c", "b"}, NULL, "arn:a + arn:c, arn:d, arn:e",
			"CertificateQuota@b: b"},
	};
	struct fixture *f = *fixture;
	struct listener *listener = fixture_listen(f, LISTENER_HTTPS, 443);
	f->settings.certificates_max = 3;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str others[4];
		listener->default_certificate = str_from(cases[i].first);
		listener->certificates = (struct str_list){others, 0};
		for (size_t k = 0; k < 4 && cases[i].others[k] != NULL; k++)
			others[listener->certificates.count++] = str_from(cases[i].others[k]);
		f->settings.default_certificate = str_from(cases[i].fallback);
		assert_string_equal(certificates(f), cases[i].want);
		assert_string_equal(fixture_notices(f), cases[i].notices);
	}
}

static void the_quota_of_certificates_is_the_balancers(void **fixture)
{
	struct fixture *f = *fixture;
	static struct str others[] = {STR("b"), STR("c")};
	fixture_listen(f, LISTENER_HTTPS, 443)->certificates = (struct str_list){others, 2};
	fixture_listen(f, LISTENER_HTTPS, 444)->certificates = (struct str_list){others, 2};
	f->settings.certificates_max = 3;
	fixture_make(f);
	const struct wanted_balancer *balancer = &f->wanted.balancers[0];
	assert_int_equal(balancer->listeners.items[0].certificates.count, 2);
	assert_int_equal(balancer->listeners.items[1].certificates.count, 1);
	assert_string_equal(fixture_notices(f), "CertificateQuota@c: c");
}

/* ---- pools ---- */

static void requests_without_a_backend_are_answered(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_rule(f, "a.com", PATH_PREFIX, "/u", "unknown");
	fixture_rule(f, "a.com", PATH_PREFIX, "/n", "name");
	fixture_rule(f, "a.com", PATH_PREFIX, "/", "empty");
	fixture_pool(f, "name")->external_name = STR("example.com");
	fixture_pool(f, "empty");
	/* A rule that is not served still hides others. */
	assert_string_equal(fixture_rules(f),
		"80 HTTP: h=a.com p=/u|/u/*>503; h=a.com p=/n|/n/*>503; h=a.com>empty; >404\n");
	assert_string_equal(
		fixture_notices(f), "ExternalNameNotSupported@default/name: default/name");
	f->lb.default_pool = STR("unknown");
	fixture_make(f);
	const struct elb_action *action = &f->wanted.balancers[0].listeners.items[0].default_action;
	assert_int_equal(action->status, 503);
	assert_string_equal(action->body.p, "Backend service does not exist");
}

static void pools_share_one_group_and_the_first_ones_have_room(void **fixture)
{
	struct fixture *f = *fixture;
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_listen(f, LISTENER_HTTPS, 443);
	fixture_rule(f, "b.com", PATH_PREFIX, "/", "q");
	fixture_rule(f, "a.com", PATH_PREFIX, "/1", "p");
	fixture_rule(f, "a.com", PATH_PREFIX, "/2", "p");
	fixture_rule(f, "", PATH_PREFIX, "/", "r");
	f->lb.default_pool = STR("d");
	fixture_make(f);
	const struct wanted_balancer *balancer = &f->wanted.balancers[0];
	assert_int_equal(balancer->groups.count, 4);
	for (size_t i = 1; i < 4; i++)
		assert_true(str_cmp(balancer->groups.items[i - 1].name,
				    balancer->groups.items[i].name) < 0);
	f->settings.groups_max = 2;
	assert_string_equal(fixture_rules(f),
		"80 HTTP: h=a.com p=/1|/1/*>p; h=a.com p=/2|/2/*>p; h=a.com>d; h=b.com>503;"
		" p=/*>503; >d\n"
		"443 HTTPS: h=a.com p=/1|/1/*>p; h=a.com p=/2|/2/*>p; h=a.com>d; h=b.com>503;"
		" p=/*>503; >d\n");
	assert_string_equal(fixture_notices(f),
		"TargetGroupQuota@default/q: default/q; TargetGroupQuota@default/r: default/r");
}

static void certificates_that_have_to_be_checked_close_the_rule(void **fixture)
{
	static const struct {
		enum pool_protocol protocol;
		bool has_tls;
		enum tls_verify verify;
		const char *want;
	} cases[] = {
		{POOL_HTTPS, true, TLS_VERIFY_SYSTEM, "80 HTTP: p=/*>503; >404\n"},
		{POOL_HTTPS, true, TLS_VERIFY_CA, "80 HTTP: p=/*>503; >404\n"},
		{POOL_HTTPS, true, TLS_VERIFY_OFF, "80 HTTP: p=/*>p; >404\n"},
		{POOL_HTTPS, false, TLS_VERIFY_SYSTEM, "80 HTTP: p=/*>p; >404\n"},
		{POOL_HTTP, true, TLS_VERIFY_CA, "80 HTTP: p=/*>p; >404\n"},
	};
	struct fixture *f = *fixture;
	struct pool *pool = fixture_pool(f, "p");
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_rule(f, "", PATH_PREFIX, "/", "p");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pool_tls tls = {.verify = cases[i].verify};
		pool->protocol = cases[i].protocol;
		pool->tls = cases[i].has_tls ? &tls : NULL;
		assert_string_equal(fixture_rules(f), cases[i].want);
		bool is_closed = strstr(cases[i].want, "503") != NULL;
		assert_string_equal(fixture_notices(f),
			is_closed ? "BackendTlsNotSupported@default/p: default/p" : "");
	}
}

/* AWS: "Listener protocol 'HTTP' is not supported with a target group with the protocol-version 'HTTP2'". */
static void http2_is_spoken_to_targets_behind_tls_only(void **fixture)
{
	struct fixture *f = *fixture;
	struct listener *https = fixture_listen(f, LISTENER_HTTPS, 443);
	fixture_listen(f, LISTENER_HTTP, 80);
	fixture_rule(f, "", PATH_PREFIX, "/a", "p");
	fixture_rule(f, "", PATH_PREFIX, "/b", "q");
	f->lb.default_pool = STR("p");
	fixture_pool(f, "p")->protocol = POOL_H2C;
	assert_string_equal(fixture_rules(f), "80 HTTP: p=/a|/a/*>503; p=/b|/b/*>q; >503\n"
					      "443 HTTPS: p=/a|/a/*>p; p=/b|/b/*>q; >p\n");
	assert_string_equal(fixture_notices(f), "Http2NeedsTls@default/p: default/p");
	/* No group without anything that leads to it. */
	https->protocol = LISTENER_HTTP;
	assert_string_equal(fixture_rules(f), "80 HTTP: p=/a|/a/*>503; p=/b|/b/*>q; >503\n"
					      "443 HTTP: p=/a|/a/*>503; p=/b|/b/*>q; >503\n");
	assert_int_equal(f->wanted.balancers[0].groups.count, 1);
	f->lb.listeners.count = 1;
	https->protocol = LISTENER_HTTPS;
	fixture_make(f);
	assert_string_equal(fixture_notices(f), "");
}

/* ---- the rest ---- */

static void wishes_that_mean_nothing_to_aws_are_told(void **fixture)
{
	struct fixture *f = *fixture;
	struct label labels[] = {{STR("io.rancher.scheduler.global"), STR("true")}};
	fixture_listen(f, LISTENER_HTTP, 80);
	f->lb.scale = 2;
	f->lb.labels.items = labels;
	f->lb.labels.count = 1;
	f->lb.custom_config = STR("maxconn 1");
	assert_string_equal(fixture_rules(f), "80 HTTP: >404\n");
	assert_string_equal(fixture_notices(f), "ScaleNotSupported; LabelRefused: "
						"io.rancher.scheduler.global; CustomConfigRefused");
}

static struct str digest(struct fixture *f)
{
	fixture_make(f);
	return f->wanted.balancers[0].digest;
}

/* Each case changes one thing. */
static void the_digest_tells_what_is_applied(void **fixture)
{
	struct fixture *f = *fixture;
	static struct str others[] = {STR("b"), STR("c")};
	static struct str turned[] = {STR("c"), STR("b")};
	struct listener *listener = fixture_listen(f, LISTENER_HTTPS, 443);
	listener->certificates = (struct str_list){others, 2};
	fixture_rule(f, "a.com", PATH_PREFIX, "/a", "a");
	fixture_rule(f, "a.com", PATH_PREFIX, "/b", "b");
	fixture_rule(f, "b.com", PATH_PREFIX, "/", "a");
	struct str first = digest(f);
	/* Of the versions before: what they applied need not be applied again. */
	assert_string_equal(first.p, "39d34dc2a7dd4b39");
	assert_true(str_eq(first, digest(f)));
	/* Neither order of hosts nor of certificates counts, nor who hears of a rule, nor targets, nor the settings of groups. */
	listener->certificates.items = turned;
	struct virtual_host host = f->hosts[0];
	f->hosts[0] = f->hosts[1];
	f->hosts[1] = host;
	f->rules[0][0].ingress = STR("other/x");
	struct pool_endpoint endpoint = {.ip = STR("10.0.0.1"), .port = 80, .active = true};
	struct pool *pool = fixture_pool(f, "a");
	pool->endpoints.items = &endpoint;
	pool->endpoints.count = 1;
	f->settings.deregistration_delay_s = 7;
	assert_true(str_eq(first, digest(f)));
	struct path_rule rule = f->rules[0][0];
	f->rules[0][0] = f->rules[0][1];
	f->rules[0][1] = rule;
	assert_false(str_eq(first, digest(f)));
	f->rules[0][1] = f->rules[0][0];
	f->rules[0][0] = rule;
	assert_true(str_eq(first, digest(f)));
	f->rules[0][0].pool = STR("b");
	assert_false(str_eq(first, digest(f)));
	f->rules[0][0].pool = STR("a");
	f->rules[0][0].match = PATH_EXACT;
	assert_false(str_eq(first, digest(f)));
	f->rules[0][0].match = PATH_PREFIX;
	f->settings.ssl_policy = STR("other");
	assert_false(str_eq(first, digest(f)));
	settings_init(&f->settings);
	f->settings.cluster = STR("test");
	assert_true(str_eq(first, digest(f)));
	listener->certificates.count = 1;
	assert_false(str_eq(first, digest(f)));
	listener->certificates.count = 2;
	listener->default_certificate = STR("z");
	assert_false(str_eq(first, digest(f)));
	listener->default_certificate = STR("a");
	f->lb.default_pool = STR("a");
	assert_false(str_eq(first, digest(f)));
	f->lb.default_pool = STR_NONE;
	listener->port = 444;
	assert_false(str_eq(first, digest(f)));
	listener->port = 443;
	pool->protocol = POOL_H2C;
	assert_false(str_eq(first, digest(f)));
	pool->protocol = POOL_HTTP;
	assert_true(str_eq(first, digest(f)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(rules_are_in_order_of_precedence),
		RUN(a_host_is_ended_where_another_would_take_the_rest),
		RUN(rules_with_more_than_a_pool_are_ignored),
		RUN(rules_for_tls_only_are_not_known_to_plain_http),
		RUN(wildcards_as_patterns_are_cut_off),
		RUN(what_cannot_be_said_is_left_out_and_told),
		RUN(the_port_may_be_part_of_the_host),
		RUN(identities_are_unique_and_stay),
		RUN(quotas_leave_out_the_least_preferred),
		RUN(thousands_of_rules_end),
		RUN(listeners_go_to_the_balancer_that_can_carry_them),
		RUN(nothing_is_wanted_without_listeners),
		RUN(listeners_that_cannot_be_had_are_told),
		RUN(the_first_host_has_the_port_where_tls_is_passed_through),
		RUN(tls_is_not_passed_through_where_it_is_ended),
		RUN(a_listener_has_the_certificates_that_are_there),
		RUN(the_quota_of_certificates_is_the_balancers),
		RUN(requests_without_a_backend_are_answered),
		RUN(pools_share_one_group_and_the_first_ones_have_room),
		RUN(certificates_that_have_to_be_checked_close_the_rule),
		RUN(http2_is_spoken_to_targets_behind_tls_only),
		RUN(wishes_that_mean_nothing_to_aws_are_told),
		RUN(the_digest_tells_what_is_applied),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
