// SPDX-License-Identifier: Apache-2.0
/* The store and the outlet that tells of it: what reaches a peer, and when. */
#include "watcher/outlet.h"
#include "watcher/project.h"

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

/* ---- a peer that writes down what it is told ---- */

struct peer {
	struct buf said;
	int room; /* messages it still takes */
	struct message_reader *reader;
	struct arena arena;
	struct store *store;
};

[[gnu::format(printf, 2, 3)]] static void say(struct peer *peer, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_int_equal(
		buf_printf(&peer->said, "%s%s", buf_len(&peer->said) != 0 ? " " : "", text), 0);
	peer->room--;
}

static bool has_room(void *ctx)
{
	const struct peer *peer = ctx;
	return peer->room > 0;
}

static void send_settings(void *ctx, const struct source_settings *settings)
{
	say(ctx, "settings:%zu", settings->kinds.count);
}

static void send_mark(void *ctx, bool begin, enum record_kind kind)
{
	say(ctx, "%s%s%s", begin ? "<" : "", record_kind_word(kind), begin ? "" : ">");
}

static void send_object(void *ctx, const struct store_object *object)
{
	struct peer *peer = ctx;
	struct message message;
	struct schema_error error;
	struct buf frame;
	buf_init(&frame, 1 << 20);
	store_encode(object, &frame);
	assert_int_equal(message_open(peer->reader, str_skip(buf_str(&frame), FRAME_HEAD_LEN),
				 &message, &error),
		0);
	union {
		struct record_key key;
		struct service_record service;
		struct ingress_record ingress;
	} record;
	assert_int_equal(message_decode(&message, &peer->arena, &record, &error), 0);
	say(peer, "%s%.*s/%.*s",
		message.type == MESSAGE_DELETE ? "-"
		: message.type == MESSAGE_KEEP ? "?"
					       : "+",
		STR_FMT(record.key.name), STR_FMT(record.key.uid));
	arena_reset(&peer->arena);
	buf_fini(&frame);
}

static void on_snapshot(void *ctx)
{
	struct peer *peer = ctx;
	peer->room++;
	say(peer, "whole");
}

static const struct outlet_ops ops = {has_room, send_settings, send_mark, send_object, on_snapshot};

struct fixture {
	struct store store;
	struct outlet outlet;
	struct peer peer;
};

static void begin(struct fixture *f, int room)
{
	static int kinds[] = {RECORD_SERVICE, RECORD_INGRESS};
	struct source_settings settings = {.kinds = {kinds, 2}};
	store_init(&f->store);
	outlet_init(&f->outlet, &f->store, &ops, &f->peer);
	f->peer = (struct peer){.room = room, .reader = message_reader_new(), .store = &f->store};
	arena_init(&f->peer.arena);
	buf_init(&f->peer.said, 1 << 20);
	outlet_set_settings(&f->outlet, &settings);
}

static void end(struct fixture *f)
{
	outlet_fini(&f->outlet);
	store_fini(&f->store);
	message_reader_free(f->peer.reader);
	arena_fini(&f->peer.arena);
	buf_fini(&f->peer.said);
}

static enum store_change put(struct fixture *f, enum record_kind kind, const char *name,
	const char *uid, const char *extra)
{
	struct record_key key = {
		.kind = kind, .namespace = STR("n"), .name = str_from(name), .uid = str_from(uid)};
	struct service_record service = {.key = key, .external_name = str_from(extra)};
	struct ingress_record ingress = {.key = key, .class_name = str_from(extra)};
	struct project_facts facts = {.revision = STR("1")};
	struct buf frame;
	struct schema_error error;
	buf_init(&frame, 1 << 20);
	assert_int_equal(
		message_encode_record(kind == RECORD_SERVICE ? (void *)&service : (void *)&ingress,
			&frame, &error),
		0);
	enum store_change change = store_put(&f->store, &key, buf_str(&frame), &facts);
	buf_fini(&frame);
	outlet_flush(&f->outlet);
	return change;
}

static void drop(struct fixture *f, enum record_kind kind, const char *name)
{
	assert_true(store_remove(&f->store, kind, STR("n"), str_from(name)));
	outlet_flush(&f->outlet);
}

static void expect(struct fixture *f, const char *want)
{
	struct str got = buf_len(&f->peer.said) != 0 ? buf_str(&f->peer.said) : STR("");
	if (!str_eq_c(got, want))
		fail_msg("said \"%.*s\", not \"%s\"", STR_FMT(got), want);
	buf_clear(&f->peer.said);
}

static void give_room(struct fixture *f, int room)
{
	f->peer.room = room;
	outlet_flush(&f->outlet);
}

/* ---- stories ---- */

static void the_snapshot_waits_until_all_is_there(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, 100);
	outlet_link_up(&f.outlet);
	expect(&f, "settings:2");
	put(&f, RECORD_INGRESS, "i", "1", NULL);
	put(&f, RECORD_SERVICE, "s", "2", NULL);
	put(&f, RECORD_SERVICE, "r", "3", NULL);
	expect(&f, "");
	outlet_set_whole(&f.outlet);
	expect(&f, "<service +r/3 +s/2 service> <ingress +i/1 ingress> whole");
	end(&f);
}

static void kinds_without_objects_are_told_as_well(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, 100);
	outlet_set_whole(&f.outlet);
	expect(&f, "");
	outlet_link_up(&f.outlet);
	expect(&f, "settings:2 <service service> <ingress ingress> whole");
	end(&f);
}

/* With a whole and empty snapshot through. */
static void begin_live(struct fixture *f)
{
	begin(f, 100);
	outlet_set_whole(&f->outlet);
	outlet_link_up(&f->outlet);
	buf_clear(&f->peer.said);
}

static void what_does_not_change_is_not_told(void **state)
{
	struct fixture f;
	(void)state;
	begin_live(&f);
	assert_int_equal(put(&f, RECORD_SERVICE, "s", "1", "a"), STORE_NEW);
	assert_int_equal(put(&f, RECORD_SERVICE, "s", "1", "a"), STORE_SAME);
	expect(&f, "+s/1");
	assert_int_equal(put(&f, RECORD_SERVICE, "s", "1", "b"), STORE_CHANGED);
	expect(&f, "+s/1");
	drop(&f, RECORD_SERVICE, "s");
	expect(&f, "-s/1");
	assert_false(store_remove(&f.store, RECORD_SERVICE, STR("n"), STR("s")));
	end(&f);
}

static void another_uid_is_a_removal_and_a_new_object(void **state)
{
	struct fixture f;
	(void)state;
	begin_live(&f);
	put(&f, RECORD_SERVICE, "s", "1", NULL);
	assert_int_equal(put(&f, RECORD_SERVICE, "s", "2", NULL), STORE_NEW);
	expect(&f, "+s/1 -s/1 +s/2");
	end(&f);
}

static void a_slow_peer_makes_changes_coalesce(void **state)
{
	struct fixture f;
	char text[32];
	(void)state;
	begin_live(&f);
	put(&f, RECORD_SERVICE, "s", "1", NULL);
	buf_clear(&f.peer.said);
	give_room(&f, 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		put(&f, RECORD_SERVICE, "s", "1", text);
		put(&f, RECORD_SERVICE, "t", text, text); /* made anew each time */
	}
	give_room(&f, 100);
	/* The peer never heard of the 999 lives of t in between. */
	expect(&f, "+s/1 +t/999");
	end(&f);
}

static void what_the_peer_never_heard_of_needs_no_delete(void **state)
{
	struct fixture f;
	(void)state;
	begin_live(&f);
	give_room(&f, 0);
	put(&f, RECORD_SERVICE, "s", "1", NULL);
	drop(&f, RECORD_SERVICE, "s");
	give_room(&f, 100);
	expect(&f, "");
	end(&f);
}

static void a_slow_peer_hears_of_a_removal_once_and_before_the_new_object(void **state)
{
	struct fixture f;
	(void)state;
	begin_live(&f);
	put(&f, RECORD_SERVICE, "s", "1", NULL);
	buf_clear(&f.peer.said);
	give_room(&f, 0);
	put(&f, RECORD_SERVICE, "s", "1", "changed"); /* queued before it is buried */
	put(&f, RECORD_SERVICE, "s", "2", NULL);
	put(&f, RECORD_SERVICE, "s", "3", NULL);
	drop(&f, RECORD_SERVICE, "s");
	put(&f, RECORD_SERVICE, "s", "4", NULL);
	give_room(&f, 100);
	expect(&f, "-s/1 +s/4");
	end(&f);
}

static void changes_while_the_snapshot_goes_out(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, 0);
	put(&f, RECORD_SERVICE, "a", "1", NULL);
	put(&f, RECORD_SERVICE, "b", "2", NULL);
	put(&f, RECORD_SERVICE, "c", "3", NULL);
	outlet_set_whole(&f.outlet);
	outlet_link_up(&f.outlet);
	give_room(&f, 3);
	expect(&f, "settings:2 <service +a/1");
	f.peer.room = 0;
	put(&f, RECORD_SERVICE, "a", "1", "x");  /* sent already: again, later */
	put(&f, RECORD_SERVICE, "b", "2", "x");  /* still to come: once */
	drop(&f, RECORD_SERVICE, "c");           /* never heard of */
	put(&f, RECORD_SERVICE, "d", "4", NULL); /* new: after the snapshot */
	give_room(&f, 100);
	expect(&f, "+b/2 service> <ingress ingress> whole +a/1 +d/4");
	end(&f);
}

static void a_kind_that_never_rests_does_not_hold_up_the_snapshot(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, 0);
	put(&f, RECORD_SERVICE, "a", "1", NULL);
	put(&f, RECORD_SERVICE, "b", "2", NULL);
	outlet_set_whole(&f.outlet);
	outlet_link_up(&f.outlet);
	give_room(&f, 3);
	for (int i = 0; i < 2; i++) {
		f.peer.room = 0;
		put(&f, RECORD_SERVICE, "a", "1", i == 0 ? "x" : "y");
		give_room(&f, 2);
	}
	expect(&f, "settings:2 <service +a/1 +b/2 service> <ingress ingress> whole");
	end(&f);
}

static void a_peer_that_comes_back_gets_everything_and_no_tombstones(void **state)
{
	struct fixture f;
	(void)state;
	begin_live(&f);
	put(&f, RECORD_SERVICE, "a", "1", NULL);
	put(&f, RECORD_SERVICE, "b", "2", NULL);
	buf_clear(&f.peer.said);
	give_room(&f, 0);
	drop(&f, RECORD_SERVICE, "a");
	outlet_link_down(&f.outlet);
	put(&f, RECORD_SERVICE, "b", "2", "x");
	put(&f, RECORD_SERVICE, "c", "3", NULL);
	drop(&f, RECORD_SERVICE, "c");
	f.peer.room = 100;
	outlet_link_up(&f.outlet);
	expect(&f, "settings:2 <service +b/2 service> <ingress ingress> whole");
	drop(&f, RECORD_SERVICE, "b");
	expect(&f, "-b/2");
	end(&f);
}

/* A list of one namespace, or (absent) of all, that names these of the Services. Returns how many it removed. */
static size_t list(struct fixture *f, struct str namespace, const char *names, size_t *ret_missed)
{
	store_unsee(&f->store, RECORD_SERVICE, namespace);
	for (const char *at = names; *at != '\0'; at++)
		put(f, RECORD_SERVICE, (char[]){*at, '\0'}, (char[]){*at, '\0'}, NULL);
	return store_sweep(&f->store, RECORD_SERVICE, namespace, ret_missed);
}

static void two_full_lists_remove_what_neither_names(void **state)
{
	struct fixture f;
	size_t missed = 0;
	(void)state;
	begin_live(&f);
	put(&f, RECORD_INGRESS, "i", "3", NULL);
	assert_int_equal(list(&f, STR_NONE, "abc", &missed), 0);
	assert_int_equal(missed, 0);
	buf_clear(&f.peer.said);
	/* One that is wrong for a moment costs nothing. */
	assert_int_equal(list(&f, STR_NONE, "", &missed), 0);
	assert_int_equal(missed, 3);
	assert_int_equal(list(&f, STR_NONE, "abc", &missed), 0);
	assert_int_equal(missed, 0);
	outlet_flush(&f.outlet);
	expect(&f, "");
	assert_int_equal(list(&f, STR_NONE, "bc", &missed), 0);
	assert_int_equal(missed, 1);
	/* The second list agrees about one, and misses another. */
	assert_int_equal(list(&f, STR_NONE, "c", &missed), 1);
	assert_int_equal(missed, 1);
	outlet_flush(&f.outlet);
	expect(&f, "-a/a");
	/* A watch has heard of it in between. */
	put(&f, RECORD_SERVICE, "b", "b", NULL);
	assert_int_equal(list(&f, STR_NONE, "c", &missed), 0);
	assert_int_equal(missed, 1);
	/* Of another namespace: nothing. */
	assert_int_equal(list(&f, STR("m"), "", &missed), 0);
	assert_int_equal(missed, 0);
	assert_int_equal(list(&f, STR("n"), "", &missed), 1);
	assert_int_equal(missed, 1);
	assert_int_equal(list(&f, STR("n"), "", &missed), 1);
	assert_int_equal(f.store.counts[RECORD_SERVICE], 0);
	assert_int_equal(f.store.counts[RECORD_INGRESS], 1);
	end(&f);
}

/* Random changes, a peer of random speed that goes and comes: in the end it has what the store has, and never heard of a delete of what it did
 * not have. */
static void random_changes_end_in_the_same_state(void **state)
{
	(void)state;
	srand(11);
	for (int round = 0; round < 200; round++) {
		struct fixture f;
		char known[8][8] = {""};
		begin(&f, 0);
		outlet_set_whole(&f.outlet);
		outlet_link_up(&f.outlet);
		for (int i = 0; i < 300; i++) {
			char name[2] = {(char)('a' + rand() % 8), '\0'};
			char uid[8];
			char extra[8];
			snprintf(uid, sizeof(uid), "%d", rand() % 4);
			snprintf(extra, sizeof(extra), "%d", rand() % 3);
			int what = rand() % 10;
			if (what < 6)
				put(&f, RECORD_SERVICE, name, uid, extra);
			else if (what < 8)
				(void)store_remove(
					&f.store, RECORD_SERVICE, STR("n"), str_from(name));
			else if (what == 8)
				give_room(&f, rand() % 6);
			else if (rand() % 10 == 0)
				outlet_link_up(&f.outlet);
		}
		give_room(&f, 1000);
		assert_int_equal(buf_append(&f.peer.said, " \0", 2), 0);
		char *rest = NULL;
		for (char *word = strtok_r((char *)f.peer.said.data, " ", &rest); word != NULL;
			word = strtok_r(NULL, " ", &rest)) {
			if (strcmp(word, "<service") == 0)
				memset(known, 0, sizeof(known)); /* what is not repeated is gone */
			if (word[0] == '+') {
				snprintf(known[word[1] - 'a'], 8, "%s", word + 3);
			} else if (word[0] == '-') {
				assert_string_equal(known[word[1] - 'a'], word + 3);
				known[word[1] - 'a'][0] = '\0';
			}
		}
		for (int i = 0; i < 8; i++) {
			char name[2] = {(char)('a' + i), '\0'};
			struct store_object *object =
				store_find(&f.store, RECORD_SERVICE, STR("n"), str_from(name));
			assert_true(
				str_eq_c(object != NULL ? store_uid(object) : STR_NONE, known[i]));
		}
		assert_true(TAILQ_EMPTY(&f.outlet.queue));
		end(&f);
	}
}

/* ---- keeping ---- */

/* What the translator is told is what came in. */
static void check_told(const void *record)
{
	struct store store;
	struct buf want;
	struct buf told;
	struct schema_error error;
	const struct record_key *key = record;
	store_init(&store);
	buf_init(&want, 1 << 20);
	buf_init(&told, 1 << 20);
	assert_int_equal(message_encode_record(record, &want, &error), 0);
	assert_int_equal(store_put(&store, key, buf_str(&want), NULL), STORE_NEW);
	assert_int_equal(store_put(&store, key, buf_str(&want), NULL), STORE_SAME);
	store_encode(store_first(&store, key->kind), &told);
	assert_true(str_eq(buf_str(&told), buf_str(&want)));
	buf_fini(&told);
	buf_fini(&want);
	store_fini(&store);
}

static void keeping_loses_nothing(void **state)
{
	(void)state;
	struct service_port ports[] = {{.name = STR("name"), .port = 80, .target_number = 65535},
		{.name = STR("upsert"), .protocol = PROTOCOL_SCTP}};
	struct service_record service = {
		.key = {RECORD_SERVICE, STR("kind"), STR("namespace"),
			STR("e4b06ce6-0741-47a8-bce4-2c8218072e8c")},
		.type = SERVICE_EXTERNAL_NAME,
		.ports = {ports, 2},
	};
	check_told(&service);
	service.key.uid = STR("E4B06CE6-0741-47a8-bce4-2c8218072e8c"); /* not in the usual form */
	service.key.name = STR("e4b06ce6-0741-47a8-bce4-2c8218072e8c");
	check_told(&service);
	service.key.uid = STR("e4b06ce6-0741-47a8-bce4-2c8218072e8");
	check_told(&service);
	service.key.uid = STR("sixteen bytes it");
	check_told(&service);
	service.key.uid = STR_NONE;
	service.key.name = STR("10.0.0.1");
	check_told(&service);
	char blob[70000];
	memset(blob, 0xe0, sizeof(blob));
	struct secret_record secret = {.key = service.key,
		.certificate = {blob, 200},
		.private_key = {blob, sizeof(blob)}};
	secret.key.kind = RECORD_SECRET;
	check_told(&secret);
	struct annotation annotations[] = {{STR("key"), {blob, 0}}, {STR("name"), STR("value")},
		{STR("z"), STR("some longer text than thirty-one bytes")}};
	struct ingress_record ingress = {
		.key = service.key, .created = 1795241254, .annotations = {annotations, 3}};
	ingress.key.kind = RECORD_INGRESS;
	check_told(&ingress);
}

static struct record_key kept_key(const char *name, const char *uid)
{
	return (struct record_key){RECORD_SERVICE, STR("n"), str_from(name), str_from(uid)};
}

static void what_cannot_be_read_stands_or_is_told_to_be_kept(void **state)
{
	struct fixture f;
	struct record_key same = kept_key("s", "1");
	struct record_key unknown = kept_key("s", "");
	struct record_key other = kept_key("s", "2");
	(void)state;
	begin_live(&f);
	put(&f, RECORD_SERVICE, "s", "1", "a");
	expect(&f, "+s/1");
	store_keep(&f.store, &same, NULL);
	store_keep(&f.store, &unknown, NULL);
	outlet_flush(&f.outlet);
	expect(&f, "");
	store_keep(&f.store, &other, NULL);
	store_keep(&f.store, &other, NULL);
	outlet_flush(&f.outlet);
	expect(&f, "-s/1 ?s/2");
	assert_int_equal(put(&f, RECORD_SERVICE, "s", "2", "a"), STORE_CHANGED);
	expect(&f, "+s/2");
	drop(&f, RECORD_SERVICE, "s");
	expect(&f, "-s/2");
	end(&f);
}

static void an_object_is_found_and_tells_its_key(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, 0);
	put(&f, RECORD_SERVICE, "name", "e4b06ce6-0741-47a8-bce4-2c8218072e8c", NULL);
	put(&f, RECORD_SERVICE, "uid", "short", NULL);
	put(&f, RECORD_SERVICE, "none", "", NULL);
	struct store_object *object = store_find(&f.store, RECORD_SERVICE, STR("n"), STR("name"));
	assert_true(str_eq_c(store_name(object), "name") && str_eq_c(store_namespace(object), "n"));
	assert_true(str_eq_c(store_uid(object), "e4b06ce6-0741-47a8-bce4-2c8218072e8c"));
	object = store_find(&f.store, RECORD_SERVICE, STR("n"), STR("uid"));
	assert_true(str_eq_c(store_uid(object), "short"));
	object = store_find(&f.store, RECORD_SERVICE, STR("n"), STR("none"));
	assert_int_equal(store_uid(object).len, 0);
	assert_null(store_find(&f.store, RECORD_SERVICE, STR_NONE, STR("uid")));
	assert_null(store_find(&f.store, RECORD_INGRESS, STR("n"), STR("uid")));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_snapshot_waits_until_all_is_there),
		cmocka_unit_test(kinds_without_objects_are_told_as_well),
		cmocka_unit_test(what_does_not_change_is_not_told),
		cmocka_unit_test(another_uid_is_a_removal_and_a_new_object),
		cmocka_unit_test(a_slow_peer_makes_changes_coalesce),
		cmocka_unit_test(what_the_peer_never_heard_of_needs_no_delete),
		cmocka_unit_test(a_slow_peer_hears_of_a_removal_once_and_before_the_new_object),
		cmocka_unit_test(changes_while_the_snapshot_goes_out),
		cmocka_unit_test(a_kind_that_never_rests_does_not_hold_up_the_snapshot),
		cmocka_unit_test(a_peer_that_comes_back_gets_everything_and_no_tombstones),
		cmocka_unit_test(two_full_lists_remove_what_neither_names),
		cmocka_unit_test(random_changes_end_in_the_same_state),
		cmocka_unit_test(keeping_loses_nothing),
		cmocka_unit_test(what_cannot_be_read_stands_or_is_told_to_be_kept),
		cmocka_unit_test(an_object_is_found_and_tells_its_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
