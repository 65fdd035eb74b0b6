// SPDX-License-Identifier: Apache-2.0
/* What a zone has and what hosts want, against the changes between them, all as short texts. */
#include "provider-elb/record_marks.h"
#include "provider-elb/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { ITEMS_MAX_TESTED = 12, TEXT_LEN = 2048 };

static struct arena arena;

static struct str owner(void)
{
	return STR("sluice-demo");
}

static const char *const type_names[] = {"A", "AAAA", "TXT", "CNAME", "NS"};

static struct str word(struct str *rest)
{
	*rest = str_trim(*rest);
	return str_cut(rest, ' ');
}

static void set_value(struct record *record, struct str value)
{
	record->values.items = arena_alloc(&arena, sizeof(struct str));
	record->values.items[0] = value;
	record->values.count = 1;
	record->ttl_s = RECORD_MARK_TTL_S;
}

/* "A name target", "A name =address", "A name odd", "TXT name ours default/web", "TXT name theirs x", "TXT name text". */
static struct record make_record(const char *text)
{
	struct str rest = str_from(text);
	struct str type = word(&rest);
	struct record record = {.name = word(&rest)};
	struct str value = word(&rest);
	while (!str_eq_c(type, type_names[record.type]))
		record.type++;
	if (str_eq_c(value, "ours") || str_eq_c(value, "theirs")) {
		struct str whose = str_eq_c(value, "ours") ? owner() : STR("other");
		return *record_mark_make(record.name, whose, word(&rest), &arena);
	}
	record.is_odd = str_eq_c(value, "odd");
	if (record.type > RECORD_AAAA || record.is_odd || value.p[0] == '=') {
		set_value(&record, value);
		return record;
	}
	record.alias = value;
	record.alias_zone = STR("Z1");
	record.evaluates_health = true;
	return record;
}

/* "host lb target", "host lb target dual", "host lb -". */
static struct records_wish make_wish(const char *text)
{
	struct str rest = str_from(text);
	struct records_wish wish = {.host = word(&rest), .lb = word(&rest)};
	struct str target = word(&rest);
	wish.ingress = arena_printf(&arena, "default/%.*s", STR_FMT(wish.lb));
	if (!str_eq_c(target, "-")) {
		wish.dns_name = target;
		wish.zone_id = STR("Z1");
	}
	wish.is_dualstack = rest.len != 0;
	return wish;
}

static void put_change(char *out, const struct records_change *change)
{
	const struct record *record = change->record;
	struct record_mark mark = record_mark_read(record, &arena);
	struct str value = record->alias.p != NULL ? record->alias
			   : mark.owner.p != NULL  ? mark.resource
						   : record->values.items[0];
	size_t len = strlen(out);
	snprintf(out + len, TEXT_LEN - len, "%s%s %.*s %.*s; ", change->is_delete ? "-" : "+",
		type_names[record->type], STR_FMT(record->name), STR_FMT(value));
}

/* "-A name target; +A name target; | !0 lb host; " */
static void put_plan(char *out, const struct records_plan *plan)
{
	for (size_t i = 0; i < plan->groups.count; i++) {
		if (i != 0)
			strcat(out, "| ");
		for (size_t k = 0; k < plan->groups.items[i].changes.count; k++)
			put_change(out, &plan->groups.items[i].changes.items[k]);
	}
	for (size_t i = 0; i < plan->troubles.count; i++) {
		const struct records_trouble *trouble = &plan->troubles.items[i];
		size_t len = strlen(out);
		snprintf(out + len, TEXT_LEN - len, "!%u %.*s %.*s; ", trouble->kind,
			STR_FMT(trouble->lb), STR_FMT(trouble->host));
	}
}

struct row {
	const char *name;
	const char *found[ITEMS_MAX_TESTED];
	const char *wishes[ITEMS_MAX_TESTED];
	const char *kept;
	const char *want;
};

static void check(const struct row *row)
{
	struct records_zone zone = {.name = STR("example.com")};
	struct records_wishes wishes = {.kept = {NULL, 0}};
	struct record records[ITEMS_MAX_TESTED];
	struct records_wish hosts[ITEMS_MAX_TESTED];
	struct records_plan plan;
	struct str kept = str_from(row->kept);
	char got[TEXT_LEN] = "";
	arena_init(&arena);
	zone.records.items = records;
	wishes.hosts.items = hosts;
	for (size_t i = 0; row->found[i] != NULL; i++)
		records[zone.records.count++] = make_record(row->found[i]);
	for (size_t i = 0; row->wishes[i] != NULL; i++)
		hosts[wishes.hosts.count++] = make_wish(row->wishes[i]);
	if (row->kept != NULL)
		wishes.kept = (struct str_list){&kept, 1};
	records_plan(&zone, 1, 0, &wishes, owner(), &arena, &plan);
	put_plan(got, &plan);
	if (strcmp(got, row->want) != 0)
		fail_msg("%s:\n got %s\nwant %s", row->name, got, row->want);
	arena_fini(&arena);
}

#define LONG_LABEL "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffffff"
#define OURS_A     "A a.example.com lb1", "TXT a-a.example.com ours default/web"
#define OURS       OURS_A, "TXT a.example.com ours default/web"

static void hosts_become_records(void **state)
{
	static const struct row rows[] = {
		{"a new one", {NULL}, {"a.example.com web lb1"}, NULL,
			"+A a.example.com lb1; +TXT a-a.example.com ingress/default/web; +TXT "
			"a.example.com ingress/default/web; "},
		{"as it is", {OURS}, {"a.example.com web lb1"}, NULL, ""},
		{"another target", {OURS}, {"a.example.com web lb2"}, NULL,
			"-A a.example.com lb1; +A a.example.com lb2; "},
		{"another Ingress", {OURS}, {"a.example.com api lb1"}, NULL,
			"-TXT a-a.example.com ingress/default/web; +TXT a-a.example.com "
			"ingress/default/api; "
			"-TXT a.example.com ingress/default/web; +TXT a.example.com "
			"ingress/default/api; "},
		{"nothing serves it", {NULL}, {"a.example.com web -"}, NULL, ""},
		{"nothing serves it any more", {OURS}, {"a.example.com web -"}, NULL, ""},
		{"two types", {OURS}, {"a.example.com web lb1 dual"}, NULL,
			"+AAAA a.example.com lb1; +TXT aaaa-a.example.com ingress/default/web; "},
		{"one type again",
			{OURS, "AAAA a.example.com lb1", "TXT aaaa-a.example.com ours default/web"},
			{"a.example.com web lb1"}, NULL,
			"-AAAA a.example.com lb1; -TXT aaaa-a.example.com ingress/default/web; "},
		{"a wildcard", {NULL}, {"*.example.com web lb1"}, NULL,
			"+A *.example.com lb1; +TXT a-*.example.com ingress/default/web; +TXT "
			"*.example.com ingress/default/web; "},
		{"in no zone", {NULL},
			{"example.org web lb1", "badexample.com web lb1", "com web lb1"}, NULL, ""},
		{"the zone itself", {"NS example.com ns"}, {"example.com web lb1 dual"}, NULL,
			"+A example.com lb1; +TXT example.com ingress/default/web; +AAAA "
			"example.com lb1; "},
		{"the zone itself, as it is",
			{"A example.com lb1", "TXT example.com ours default/web",
				"AAAA example.com lb1"},
			{"example.com web lb1 dual"}, NULL, ""},
		{"the zone itself moves",
			{"A example.com lb1", "TXT example.com ours default/web",
				"AAAA example.com lb1"},
			{"example.com api lb2 dual"}, NULL,
			"-A example.com lb1; +A example.com lb2; -TXT example.com "
			"ingress/default/web; +TXT example.com ingress/default/api; -AAAA "
			"example.com lb1; +AAAA example.com lb2; "},
		{"a long label", {NULL}, {LONG_LABEL ".example.com web lb1"}, NULL,
			"+A " LONG_LABEL ".example.com lb1; +TXT " LONG_LABEL
			".example.com ingress/default/web; "},
		{"a mark is missing", {OURS_A}, {"a.example.com web lb1"}, NULL,
			"+TXT a.example.com ingress/default/web; "},
		{"a record is missing", {"TXT a-a.example.com ours default/web"},
			{"a.example.com web lb1"}, NULL,
			"+A a.example.com lb1; +TXT a.example.com ingress/default/web; "},
		{"changed by hand",
			{"A a.example.com =192.0.2.1", "TXT a-a.example.com ours default/web"},
			{"a.example.com web lb1"}, NULL,
			"-A a.example.com =192.0.2.1; +A a.example.com lb1; +TXT a.example.com "
			"ingress/default/web; "},
		{"two want it", {NULL}, {"a.example.com web lb1", "a.example.com api lb2"}, NULL,
			"+A a.example.com lb2; +TXT a-a.example.com ingress/default/api; +TXT "
			"a.example.com ingress/default/api; !1 web a.example.com; "},
		{"who has it keeps it", {OURS}, {"a.example.com web lb1", "a.example.com api lb2"},
			NULL, "!1 api a.example.com; "},
		{"one who serves comes first", {NULL},
			{"a.example.com web lb1", "a.example.com api -"}, NULL,
			"+A a.example.com lb1; +TXT a-a.example.com ingress/default/web; +TXT "
			"a.example.com ingress/default/web; !1 api a.example.com; "},
		{"a mark that is the name of another host", {NULL},
			{"a.example.com web lb1", "a-a.example.com web lb1"}, NULL,
			"+A a-a.example.com lb1; +TXT a-a-a.example.com ingress/default/web; | "
			"+A a.example.com lb1; +TXT a-a.example.com ingress/default/web; +TXT "
			"a.example.com ingress/default/web; "},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void what_others_have_stays(void **state)
{
	static const struct row rows[] = {
		{"by hand", {"A a.example.com =192.0.2.1"}, {"a.example.com web lb1"}, NULL,
			"!0 web a.example.com; "},
		{"an alias to the same", {"A a.example.com lb1"}, {"a.example.com web lb1"}, NULL,
			"!0 web a.example.com; "},
		{"only the old form is ours",
			{"A a.example.com lb1", "TXT a.example.com ours default/web"},
			{"a.example.com web lb1"}, NULL, "!0 web a.example.com; "},
		{"an alias", {"CNAME a.example.com x"}, {"a.example.com web lb1"}, NULL,
			"!0 web a.example.com; "},
		{"a zone below", {"NS a.example.com x"}, {"a.example.com web lb1"}, NULL,
			"!0 web a.example.com; "},
		{"of external-dns, old form", {"TXT a.example.com theirs x"},
			{"a.example.com web lb1"}, NULL, "!0 web a.example.com; "},
		{"of external-dns", {"A a.example.com lb0", "TXT a-a.example.com theirs x"},
			{"a.example.com web lb1"}, NULL, "!0 web a.example.com; "},
		{"of external-dns, a CNAME once", {"TXT cname-a.example.com theirs x"},
			{"a.example.com web lb1"}, NULL, "!0 web a.example.com; "},
		{"the place of the mark is taken", {"TXT a-a.example.com text"},
			{"a.example.com web lb1"}, NULL, "!0 web a.example.com; "},
		{"one of several", {"A a.example.com odd", "TXT a-a.example.com ours default/web"},
			{"a.example.com web lb1"}, NULL, "!0 web a.example.com; "},
		{"a text", {OURS_A, "TXT a.example.com text"}, {"a.example.com web lb1"}, NULL, ""},
		{"only the other type", {OURS, "AAAA a.example.com =2001:db8::1"},
			{"a.example.com web lb2 dual"}, NULL,
			"-A a.example.com lb1; +A a.example.com lb2; !0 web a.example.com; "},
		{"the zone itself has a text", {"TXT example.com text"}, {"example.com web lb1"},
			NULL, "!0 web example.com; "},
		{"nobody's",
			{"A a.example.com =192.0.2.1", "TXT b.example.com theirs x",
				"TXT a-c.example.com text", "CNAME d.example.com x"},
			{NULL}, NULL, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void what_is_not_wanted_goes(void **state)
{
	static const struct row rows[] = {
		{"with its marks", {OURS}, {NULL}, NULL,
			"-A a.example.com lb1; -TXT a-a.example.com ingress/default/web; -TXT "
			"a.example.com ingress/default/web; "},
		{"both types",
			{OURS, "AAAA a.example.com lb1", "TXT aaaa-a.example.com ours default/web"},
			{NULL}, NULL,
			"-A a.example.com lb1; -TXT a-a.example.com ingress/default/web; -AAAA "
			"a.example.com lb1; -TXT aaaa-a.example.com ingress/default/web; -TXT "
			"a.example.com ingress/default/web; "},
		{"marks alone",
			{"TXT a-a.example.com ours default/web",
				"TXT b.example.com ours default/web"},
			{NULL}, NULL,
			"-TXT a-a.example.com ingress/default/web; | -TXT b.example.com "
			"ingress/default/web; "},
		{"the zone itself",
			{"A example.com lb1", "TXT example.com ours default/web",
				"AAAA example.com lb1"},
			{NULL}, NULL,
			"-A example.com lb1; -TXT example.com ingress/default/web; -AAAA "
			"example.com lb1; "},
		{"not what a mark of another name seems to mark",
			{"A a-a.example.com =192.0.2.1", OURS}, {NULL}, NULL,
			"-A a.example.com lb1; -TXT a-a.example.com ingress/default/web; -TXT "
			"a.example.com ingress/default/web; "},
		{"not of an Ingress of which nothing is known", {OURS}, {NULL}, "default/web", ""},
		{"of another one", {OURS}, {NULL}, "default/api",
			"-A a.example.com lb1; -TXT a-a.example.com ingress/default/web; -TXT "
			"a.example.com ingress/default/web; "},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void a_host_is_in_the_zone_with_the_longest_name(void **state)
{
	static const struct records_zone zones[] = {{.name = STR("example.com")},
		{.name = STR("sub.example.com")}, {.name = STR("example.com")}, {.id = STR("Z9")}};
	static const struct {
		const char *host;
		const char *want; /* the zones' numbers */
	} rows[] = {
		{"a.example.com", "02"},
		{"example.com", "02"},
		{"*.sub.example.com", "1"},
		{"sub.example.com", "1"},
		{"xsub.example.com", "02"},
		{"xexample.com", ""},
		{"com", ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char got[8] = "";
		for (size_t k = 0; k < 4; k++) {
			if (records_belong(str_from(rows[i].host), zones, 4, k))
				sprintf(got + strlen(got), "%zu", k);
		}
		assert_string_equal(got, rows[i].want);
	}
}

static void batches_keep_what_belongs_together(void **state)
{
	static struct records_group groups[400];
	struct records_plan plan = {.groups = {groups, 400}};
	for (size_t i = 0; i < 400; i++) {
		groups[i].changes.count = i == 399 ? RECORDS_BATCH_CHANGES_MAX + 1 : 3;
		groups[i].len = i >= 200 && i < 399 ? 1000 : 100;
	}
	assert_int_equal(records_batch(&plan, 0, SIZE_MAX), RECORDS_BATCH_CHANGES_MAX / 3);
	assert_int_equal(records_batch(&plan, 0, 7), 7);
	assert_int_equal(records_batch(&plan, 300, SIZE_MAX), RECORDS_BATCH_LEN_MAX / 1000);
	assert_int_equal(records_batch(&plan, 399, SIZE_MAX), 1);
}

static void every_wish_is_part_of_the_digest(void **state)
{
	struct records_wish wish = {.host = STR("a"), .lb = STR("b"), .ingress = STR("c")};
	struct records_wishes wishes = {.hosts = {&wish, 1}};
	arena_init(&arena);
	struct str before = records_digest(&wishes, &arena);
	wish.dns_name = STR("d");
	struct str after = records_digest(&wishes, &arena);
	assert_false(str_eq(before, after));
	wish.is_dualstack = true;
	assert_false(str_eq(after, records_digest(&wishes, &arena)));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_become_records),
		cmocka_unit_test(what_others_have_stays),
		cmocka_unit_test(what_is_not_wanted_goes),
		cmocka_unit_test(a_host_is_in_the_zone_with_the_longest_name),
		cmocka_unit_test(batches_keep_what_belongs_together),
		cmocka_unit_test(every_wish_is_part_of_the_digest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
