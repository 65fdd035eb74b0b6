// SPDX-License-Identifier: Apache-2.0
/* Objects that cannot be read, which are told apart from objects that are not there; and what is known of Services beside their records. */
#include "watcher/intake.h"
#include "watcher/object_key.h"

#include "common/xalloc.h"
#include "proto/frame.h"
#include "proto/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct project_ours ours;

struct fixture {
	struct store store;
	struct intake intake;
	int refused;
	char why[512];
	char who[512];
};

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	struct fixture *f = ctx;
	f->refused++;
	snprintf(f->why, sizeof(f->why), "%s", why);
	snprintf(f->who, sizeof(f->who), "%.*s/%.*s/%.*s", STR_FMT(meta->namespace),
		STR_FMT(meta->name), STR_FMT(meta->uid));
}

static void begin(struct fixture *f, enum record_kind kind)
{
	*f = (struct fixture){.refused = 0};
	project_ours_init(&ours, STR("x.io/lb"), false);
	store_init(&f->store);
	intake_init(&f->intake, kind_version_at(kind, 0), &f->store, &ours, on_refused, f);
}

static void end(struct fixture *f)
{
	intake_fini(&f->intake);
	store_fini(&f->store);
}

static void put(struct fixture *f, const char *text)
{
	intake_put_text(&f->intake, str_from(text));
}

/* The type of the only object's message: "upsert", "keep". */
static enum message_type type_of(struct fixture *f, enum record_kind kind)
{
	struct message_reader *reader = message_reader_new();
	struct message message;
	struct schema_error error;
	struct store_object *object = store_first(&f->store, kind);
	assert_non_null(object);
	assert_null(store_next(object));
	struct buf frame;
	buf_init(&frame, 1 << 20);
	store_encode(object, &frame);
	assert_int_equal(
		message_open(reader, str_skip(buf_str(&frame), FRAME_HEAD_LEN), &message, &error),
		0);
	enum message_type type = message.type;
	buf_fini(&frame);
	message_reader_free(reader);
	return type;
}

#define INGRESS(uid, rest) \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"" uid "\"}" rest "}"
#define BAD ",\"spec\":{\"rules\":1}"

/* ---- kept ---- */

static void what_was_known_stands(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, RECORD_INGRESS);
	put(&f, INGRESS("1", ""));
	store_unsee(&f.store, RECORD_INGRESS, STR_NONE);
	put(&f, INGRESS("1", BAD));
	assert_int_equal(f.refused, 1);
	assert_string_equal(f.who, "n/a/1");
	assert_string_equal(f.why, "spec.rules: must be a list");
	size_t missed = 1;
	assert_int_equal(store_sweep(&f.store, RECORD_INGRESS, STR_NONE, &missed), 0);
	assert_int_equal(missed, 0);
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_UPSERT);
	end(&f);
}

static void what_was_never_known_is_kept_until_it_is_mended_or_gone(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, RECORD_INGRESS);
	put(&f, INGRESS("1", BAD));
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_KEEP);
	put(&f, INGRESS("1", ""));
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_UPSERT);
	/* Another one of that name was never known. */
	put(&f, INGRESS("2", BAD));
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_KEEP);
	struct json *object = json_parse(STR(INGRESS("2", BAD)), NULL, NULL);
	intake_remove(&f.intake, object);
	json_free(object);
	assert_int_equal(f.store.counts[RECORD_INGRESS], 0);
	assert_int_equal(f.refused, 2);
	end(&f);
}

static void metadata_that_cannot_be_read_still_names_the_object(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, RECORD_SERVICE);
	put(&f, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"1\",\"labels\":[]}}");
	assert_string_equal(f.who, "n/a/1");
	assert_int_equal(type_of(&f, RECORD_SERVICE), MESSAGE_KEEP);
	assert_false(f.intake.has_nameless);
	put(&f, "{\"metadata\":{\"name\":1}}");
	assert_string_equal(f.who, "//");
	assert_true(f.intake.has_nameless);
	end(&f);
}

static void a_uid_beyond_its_limit_is_left_out(void **state)
{
	struct fixture f;
	char uid[300];
	(void)state;
	begin(&f, RECORD_INGRESS);
	memset(uid, 'u', sizeof(uid) - 1);
	uid[sizeof(uid) - 1] = '\0';
	char *text = xasprintf("{\"metadata\":{\"name\":\"a\",\"uid\":\"%s\"}}", uid);
	put(&f, text);
	free(text);
	assert_int_equal(f.refused, 1);
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_KEEP);
	end(&f);
}

/* A server that says something twice is no reason to lose what it says. */
static void of_equal_names_the_last_is_taken(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, RECORD_INGRESS);
	put(&f, INGRESS("1", ",\"spec\":{\"rules\":1},\"spec\":{}"));
	assert_int_equal(f.refused, 0);
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_UPSERT);
	put(&f, INGRESS("1", ",\"spec\":{},\"spec\":{\"rules\":1}"));
	assert_string_equal(f.why, "spec.rules: must be a list");
	end(&f);
}

static void text_that_is_no_json_still_names_the_object(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, RECORD_INGRESS);
	put(&f, INGRESS("1", ",\"spec\":{\"x\":1e999}"));
	assert_string_equal(f.who, "n/a/1");
	assert_string_equal(f.why, "a number is out of range");
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_KEEP);
	intake_refuse_text(&f.intake, STR("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"un"),
		"longer than an object may be");
	assert_string_equal(f.who, "n/a/");
	assert_int_equal(type_of(&f, RECORD_INGRESS), MESSAGE_KEEP);
	end(&f);
}

/* ---- keys in text ---- */

static void keys_are_found_in_any_text(void **state)
{
	static const struct {
		const char *text;
		const char *want; /* namespace/name/uid */
	} rows[] = {
		{"{\"kind\":\"X\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\"}}",
			"n/a/u"},
		{"{ \"metadata\" : {\n \"uid\" : \"u\" , \"name\" : \"a\" } }", "/a/u"},
		/* A name anywhere else is another's. */
		{"{\"name\":\"x\",\"metadata\":{\"labels\":{\"name\":\"y\"},\"ownerReferences\":[{"
		 "\"name\":\"z\"}],\"name\":\"a\"},\"spec\":{\"name\":\"b\"}}",
			"/a/"},
		{"{\"spec\":{\"metadata\":{\"name\":\"x\"}},\"metadata\":{\"name\":\"a\"}}", "/a/"},
		{"{\"spec\":{\"metadata\":{\"name\":\"x\"}}}", "//"},
		{"{\"x\":\"metadata\",\"y\":{\"name\":\"x\"}}", "//"},
		{"[{\"metadata\":{\"name\":\"x\"}}]", "//"},
		{"{\"metadata\":[\"name\",\"x\"]}", "//"},
		/* Texts that look like structure. */
		{"{\"metadata\":{\"x\":\"\\\"},{\\\\\",\"name\":\"a\"}}", "/a/"},
		{"{\"metadata\":{\"na\\u006de\":\"x\",\"name\":\"a\"}}", "/a/"},
		{"{\"metadata\":{\"name\":null,\"namespace\":\"n\"}}", "//"},
		{"{\"metadata\":{\"name\":7,\"name\":\"a\"}}", "/a/"},
		/* What goes into no path. */
		{"{\"metadata\":{\"name\":\"../x\"}}", "//"},
		{"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n/m\"}}", "//"},
		/* Cut short. */
		{"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"annotations\":{\"x\":\"yy",
			"n/a/"},
		{"{\"metadata\":{\"name\":\"ab", "//"},
		{"{\"metadata\":{\"name\":\"a\\", "//"},
		{"", "//"},
		{"\"", "//"},
		{"}}]]{\"metadata\":{\"name\":\"a\"}}", "/a/"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct project_meta meta;
		char got[512];
		/* At its very end, so that a sanitizer sees a step too far. */
		struct str text = str_from(rows[i].text);
		char *copy = xmemdup(text.p, text.len + 1);
		object_key_find((struct str){copy, text.len}, &meta);
		snprintf(got, sizeof(got), "%.*s/%.*s/%.*s", STR_FMT(meta.namespace),
			STR_FMT(meta.name), STR_FMT(meta.uid));
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: %s, not %s", rows[i].text, got, rows[i].want);
		free(copy);
	}
}

/* ---- what is known of Services ---- */

#define CLEANUP "\"service.kubernetes.io/load-balancer-cleanup\""
/* "%s": the manager's name. */
#define BY                                                                            \
	"[{\"manager\":\"%s\",\"fieldsV1\":{\"f:metadata\":{\"f:finalizers\":{\"v:\\" \
	"\"service.kubernetes.io/load-balancer-cleanup\\\"\":{}}}}}]"
#define OF_CLASS(class) "\"type\":\"LoadBalancer\",\"loadBalancerClass\":\"" class "\""

static void assert_revision(const struct store_target *target, const char *want)
{
	assert_string_equal(target->revision, want);
}

static void the_holding_of_services_is_read(void **state)
{
	struct project_ours other;
	project_ours_init(&other, STR("y.io/lb"), false);
	project_ours_init(&ours, STR("x.io/lb"), false);
	const struct {
		const char *name;
		const char *finalizers;
		const char *manager; /* of the finalizer */
		const char *spec;
		bool deleting;
		bool is_known; /* beside its record */
		bool wants;
		bool has;
		const char *others;
	} rows[] = {
		{"another type", "[]", NULL, "", false, false, false, false, NULL},
		{"another class", "[" CLEANUP "]", NULL, OF_CLASS("y.io/lb"), false, false, false,
			false, NULL},
		{"no class", "null", NULL, "\"type\":\"LoadBalancer\"", false, false, false, false,
			NULL},
		{"ours", "null", NULL, OF_CLASS("x.io/lb"), false, true, true, false, NULL},
		{"ours and held", "[\"a\"," CLEANUP ",\"b\"]", NULL, OF_CLASS("x.io/lb"), false,
			true, true, true, "\"a\",\"b\""},
		{"ours and going", "[" CLEANUP "]", NULL, OF_CLASS("x.io/lb"), true, true, false,
			true, NULL},
		{"was ours", "[" CLEANUP "]", ours.manager, "\"type\":\"NodePort\"", false, true,
			false, true, NULL},
		{"was ours and is held no longer", "[\"a\"]", ours.manager, "", false, false, false,
			false, NULL},
		{"held by one of us for another class", "[" CLEANUP "]", other.manager,
			OF_CLASS("y.io/lb"), false, false, false, false, NULL},
		{"nonsense among them", "[7," CLEANUP "]", NULL, OF_CLASS("x.io/lb"), false, false,
			false, false, NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		begin(&f, RECORD_SERVICE);
		char *managed =
			xasprintf(BY, rows[i].manager != NULL ? rows[i].manager : "kubectl");
		char *text = xasprintf(
			"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"1\","
			"\"resourceVersion\":\"7\",\"finalizers\":%s,\"managedFields\":%s%s},"
			"\"spec\":{%s}}",
			rows[i].finalizers, managed,
			rows[i].deleting ? ",\"deletionTimestamp\":\"2026-07-14T09:00:00Z\"" : "",
			rows[i].spec);
		put(&f, text);
		free(text);
		free(managed);
		struct store_object *object = store_first(&f.store, RECORD_SERVICE);
		assert_non_null(object);
		const struct store_target *target = store_target_of(object);
		if ((target != NULL) != rows[i].is_known)
			fail_msg("%s: %s", rows[i].name, target != NULL ? "known" : "not known");
		if (target != NULL) {
			struct str others = store_finalizers(object);
			assert_revision(target, "7");
			assert_int_equal(target->wants_finalizer, rows[i].wants);
			assert_int_equal(target->has_finalizer, rows[i].has);
			assert_true(str_eq(others, str_from(rows[i].others)));
		}
		end(&f);
	}
}

/* What cannot be read must not make a Service look as if it were held no longer, or its addresses gone. */
static void what_is_known_beside_a_record_stands_as_well(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, RECORD_SERVICE);
#define HELD(revision, spec)                                                          \
	"{\"metadata\":{\"name\":\"a\",\"uid\":\"1\",\"resourceVersion\":\"" revision \
	"\",\"finalizers\":[\"x\"," CLEANUP                                           \
	"]},\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":"                      \
	"\"192.0.2.1\"}]}},\"spec\":{" spec "}}"
	put(&f, HELD("7", OF_CLASS("x.io/lb")));
	put(&f, HELD("8", "\"type\":7"));
	put(&f, HELD("9", "\"x\":1e999"));
	assert_int_equal(f.refused, 2);
	struct store_object *object = store_first(&f.store, RECORD_SERVICE);
	const struct store_target *target = store_target_of(object);
	assert_non_null(target);
	assert_true(target->wants_finalizer && target->has_finalizer);
	assert_true(str_eq_c(store_finalizers(object), "\"x\""));
	assert_string_equal(target->status, "[{\"ip\":\"192.0.2.1\"}]");
	assert_revision(target, "8");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_known_stands),
		cmocka_unit_test(what_was_never_known_is_kept_until_it_is_mended_or_gone),
		cmocka_unit_test(metadata_that_cannot_be_read_still_names_the_object),
		cmocka_unit_test(a_uid_beyond_its_limit_is_left_out),
		cmocka_unit_test(of_equal_names_the_last_is_taken),
		cmocka_unit_test(text_that_is_no_json_still_names_the_object),
		cmocka_unit_test(keys_are_found_in_any_text),
		cmocka_unit_test(the_holding_of_services_is_read),
		cmocka_unit_test(what_is_known_beside_a_record_stands_as_well),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
