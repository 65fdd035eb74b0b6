// SPDX-License-Identifier: Apache-2.0
#include "proto/pack.h"

#include "proto/frame.h"
#include "proto/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The rows of tables leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces"

#define COUNT_OF(array)           (sizeof(array) / sizeof((array)[0]))
#define assert_text(text_, want_) assert_true(str_eq_c((text_), (want_)))

enum { ROOM = 1 << 20 };

static struct str payload_of(const struct buf *frame)
{
	return str_skip(buf_str(frame), FRAME_HEAD_LEN);
}

/* What comes out must encode to the same message as what went in. */
static void check_record(const void *record, size_t size)
{
	const struct record_key *key = record;
	const struct schema *schema = message_schema(MESSAGE_UPSERT, key->kind, LB_NONE);
	struct schema_error error;
	struct arena arena;
	struct buf packed;
	struct buf before;
	struct buf after;
	arena_init(&arena);
	buf_init(&packed, ROOM);
	buf_init(&before, ROOM);
	buf_init(&after, ROOM);
	assert_int_equal(schema->size, size);
	void *copy = arena_alloc(&arena, size);
	pack_struct(schema, record, &packed);
	unpack_struct(schema, buf_str(&packed), &arena, copy);
	assert_int_equal(message_encode_record(record, &before, &error), 0);
	assert_int_equal(message_encode_record(copy, &after, &error), 0);
	assert_true(str_eq(payload_of(&before), payload_of(&after)));
	assert_true(buf_len(&packed) < buf_len(&before));
	buf_fini(&packed);
	buf_fini(&before);
	buf_fini(&after);
	arena_fini(&arena);
}

static void records_come_back_as_they_were(void **state)
{
	struct annotation annotation = {STR("a"), STR("b")};
	struct ingress_backend backend = {.service = STR("s"), .port_number = 300};
	struct ingress_path paths[] = {{.path = STR("/"), .type = PATH_EXACT, .backend = backend},
		{.backend = {.resource = STR("a/B c")}}};
	struct ingress_rule rules[] = {{.host = STR("h"), .paths = {paths, 2}}, {0}};
	struct str hosts[] = {STR("one"), STR("two")};
	struct ingress_tls tls = {.hosts = {hosts, 2}, .secret = STR("t")};
	struct ingress_record ingress = {
		.key = {RECORD_INGRESS, STR("ns"), STR("web"),
			STR("0f8fad5b-d9cb-469f-a165-70867728950e")},
		.created = UINT64_C(0xfffffffff),
		.class_name = STR("c"),
		.annotations = {&annotation, 1},
		.default_backend = &backend,
		.rules = {rules, 2},
		.tls = {&tls, 1},
	};
	struct endpoint_port port = {.port = 80, .protocol = PROTOCOL_SCTP};
	struct endpoint_address addresses[] = {{.ip = STR("10.0.0.1"), .ready = true},
		{.ip = STR("010.0.0.1"), .serving = true}, {.ip = STR("255.255.255.255")},
		{.ip = STR("fd00::1"), .terminating = true, .target_uid = STR("not-a-uid")}};
	struct endpoint_subset subset = {.ports = {&port, 1}, .addresses = {addresses, 4}};
	struct endpoints_record endpoints = {
		.key = {RECORD_ENDPOINTS, STR("ns"), STR("e"),
			STR("0F8FAD5B-D9CB-469F-A165-70867728950E")},
		.subsets = {&subset, 1},
	};
	struct secret_record secret = {.key = {RECORD_SECRET, STR("ns"), STR("t"), STR("")},
		.certificate = STR("bytes\0with zero"),
		.private_key = STR("0f8fad5b-d9cb-469f-a165-70867728950e")};
	(void)state;
	check_record(&ingress, sizeof(ingress));
	check_record(&endpoints, sizeof(endpoints));
	check_record(&secret, sizeof(secret));
}

static void uids_and_addresses_take_little_room(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{"0f8fad5b-d9cb-469f-a165-70867728950e", 17},
		{"0F8fad5b-d9cb-469f-a165-70867728950e", 37},
		{"0f8fad5b-d9cb-469f-a165-70867728950g", 37},
		{"0f8fad5bxd9cb-469f-a165-70867728950e", 37},
		{"10.0.0.1", 5},
		{"255.255.255.255", 5},
		{"10.0.0.01", 10},
		{"10.0.0.256", 11},
		{"10.0.0.1000", 12},
		{"00.0.0.1", 9},
		{"1.2.3", 6},
		{"1.2.3.", 7},
		{"1.2.3.4.", 9},
		{"1.2.3.4.5", 10},
		{"1..2.3", 7},
		{"1.2.3.4x", 9},
		{"0.0.0.0", 5},
	};
	const struct schema *schema = message_schema(MESSAGE_BYE, RECORD_NONE, LB_NONE);
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bye bye = {str_from(rows[i].text)};
		struct bye copy;
		struct arena arena;
		struct buf packed;
		arena_init(&arena);
		buf_init(&packed, ROOM);
		pack_struct(schema, &bye, &packed);
		unpack_struct(schema, buf_str(&packed), &arena, &copy);
		assert_text(copy.reason, rows[i].text);
		assert_int_equal(buf_len(&packed), rows[i].len + 2); /* tag and end */
		buf_fini(&packed);
		arena_fini(&arena);
	}
}

static void what_stands_beside_is_kept_as_its_place(void **state)
{
	static const struct {
		const char *known;
		const char *text;
		size_t len;
	} rows[] = {
		{"default/web", "default/web", 4},
		{"default/web", "default/web:80", 7},
		{"a/default/web", "default", 4},
		{"default/web", "default/shop", 8},
		{"default/web", "webs", 5},
		{"defdefault", "default", 4},
		{"default", "web-default", 12},
		{"", "default", 8},
	};
	const struct schema *schema = message_schema(MESSAGE_BYE, RECORD_NONE, LB_NONE);
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bye bye = {str_from(rows[i].text)};
		struct bye copy;
		struct arena arena;
		struct buf packed;
		arena_init(&arena);
		buf_init(&packed, ROOM);
		pack_struct_beside(schema, &bye, str_from(rows[i].known), &packed);
		unpack_struct_beside(
			schema, buf_str(&packed), str_from(rows[i].known), &arena, &copy);
		assert_true(str_eq_c(copy.reason, rows[i].text));
		assert_int_equal(buf_len(&packed), rows[i].len + 2); /* tag and end */
		buf_fini(&packed);
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_as_they_were),
		cmocka_unit_test(uids_and_addresses_take_little_room),
		cmocka_unit_test(what_stands_beside_is_kept_as_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
