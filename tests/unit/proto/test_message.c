// SPDX-License-Identifier: Apache-2.0
/* Every vector decodes into its struct and encodes back to the same bytes; every refused frame is
 * refused. */
#include "common/fatal.h"
#include "proto/frame.h"
#include "proto/inspection.h"
#include "proto/message.h"

#include <dirent.h>
#include <dlfcn.h>
#include <msgpack.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { VALUE_MAX = 1024 };

static struct buf read_file(const char *dir, const char *name)
{
	char path[512];
	struct buf content;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	buf_init(&content, 65536);
	uint8_t *room = buf_reserve(&content, 65536);
	buf_commit(&content, fread(room, 1, 65536, file));
	fclose(file);
	return content;
}

static int encode_again(const struct message *message, const void *value, struct buf *out,
	struct schema_error *error)
{
	uint64_t rev = 0;
	if (message->type != MESSAGE_UPSERT)
		return message_encode(message->type, value, out, error);
	if (message->record_kind != RECORD_NONE)
		return message_encode_record(value, out, error);
	int err = message_encode_object(value, out, &rev, error);
	assert_int_equal(rev, ((const struct lb_key *)value)->rev);
	return err;
}

static void check_vector(struct message_reader *reader, const char *dir, const char *name)
{
	struct buf in = read_file(dir, name);
	struct buf out;
	struct str payload;
	struct schema_error error = {""};
	struct message message;
	struct arena arena;
	_Alignas(max_align_t) unsigned char value[VALUE_MAX];
	arena_init(&arena);
	buf_init(&out, 65536);
	assert_int_equal(frame_next(&in, &payload), FRAME_READY);
	assert_int_equal(frame_len_of(payload), buf_len(&in));
	if (message_open(reader, payload, &message, &error) != 0 ||
		message.type == MESSAGE_UNKNOWN ||
		message_decode(&message, &arena, value, &error) != 0 ||
		encode_again(&message, value, &out, &error) != 0)
		fail_msg("%s: %s", name, error.text);
	if (!str_eq(buf_str(&in), buf_str(&out)))
		fail_msg("%s: encodes to other bytes", name);
	buf_fini(&in);
	buf_fini(&out);
	arena_fini(&arena);
}

static bool is_refused(struct message_reader *reader, const struct buf *in)
{
	struct str payload;
	struct schema_error error = {""};
	struct message message;
	struct arena arena;
	_Alignas(max_align_t) unsigned char value[VALUE_MAX];
	enum frame_outcome outcome = frame_next(in, &payload);
	if (outcome != FRAME_READY)
		return outcome == FRAME_TOO_LONG || outcome == FRAME_EMPTY;
	if (message_open(reader, payload, &message, &error) != 0)
		return true;
	arena_init(&arena);
	int err = message.type == MESSAGE_UNKNOWN ? 0
						  : message_decode(&message, &arena, value, &error);
	arena_fini(&arena);
	return err != 0;
}

static size_t each_bin(const char *dir, struct message_reader *reader, bool refused)
{
	DIR *folder = opendir(dir);
	assert_non_null(folder);
	size_t count = 0;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		if (!str_ends_with(str_from(entry->d_name), STR(".bin")))
			continue;
		count++;
		if (!refused) {
			check_vector(reader, dir, entry->d_name);
			continue;
		}
		struct buf in = read_file(dir, entry->d_name);
		if (!is_refused(reader, &in))
			fail_msg("%s: was taken", entry->d_name);
		buf_fini(&in);
	}
	closedir(folder);
	return count;
}

static void vectors_survive_the_round_trip(void **state)
{
	struct message_reader *reader = message_reader_new();
	(void)state;
	assert_true(each_bin(VECTORS_DIR, reader, false) >= MESSAGE_TYPE_COUNT + 7);
	message_reader_free(reader);
}

static void refused_vectors_are_refused(void **state)
{
	struct message_reader *reader = message_reader_new();
	(void)state;
	assert_true(each_bin(VECTORS_DIR "/refused", reader, true) > 10);
	message_reader_free(reader);
}

static void vectors_cover_every_message(void **state)
{
	(void)state;
	for (int type = MESSAGE_UNKNOWN + 1; type < MESSAGE_TYPE_COUNT; type++) {
		char pattern[64];
		snprintf(pattern, sizeof(pattern), "%s", message_word((enum message_type)type));
		DIR *folder = opendir(VECTORS_DIR);
		assert_non_null(folder);
		bool found = false;
		for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
			found = found || strncmp(entry->d_name, pattern, strlen(pattern)) == 0;
		closedir(folder);
		if (!found)
			fail_msg("no vector for %s", pattern);
	}
}

static void unknown_types_kinds_and_keys_are_skipped(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
		enum message_type want;
	} cases[] = {
		{"unknown type", "\x92\xa3zap\x81\xa1x\x01", 9, MESSAGE_UNKNOWN},
		{"unknown kind", "\x92\xa6upsert\x81\xa4kind\xa3zap", 18, MESSAGE_UNKNOWN},
		{"a removed object of unknown kind", "\x92\xa6remove\x82\xa4kind\xa3zap\xa2id\xa1x",
			23, MESSAGE_UNKNOWN},
		{"a deleted record of unknown kind",
			"\x92\xa6"
			"delete\x82\xa4kind\xa3zap\xa4name\xa1x",
			25, MESSAGE_UNKNOWN},
		{"kept", "\x92\xa4keep\x82\xa4kind\xa3zap\xa4name\xa1x", 23, MESSAGE_UNKNOWN},
		{"sync-begin", "\x92\xaasync-begin\x81\xa4kind\xa3zap", 22, MESSAGE_UNKNOWN},
		{"sync-end", "\x92\xa8sync-end\x81\xa4kind\xa3zap", 20, MESSAGE_UNKNOWN},
		{"no kind at all", "\x92\xaasync-begin\x80", 13, MESSAGE_SYNC_BEGIN},
		{"a known kind", "\x92\xaasync-begin\x81\xa4kind\xa7ingress", 26,
			MESSAGE_SYNC_BEGIN},
		{"a kind that is no text", "\x92\xaasync-begin\x81\xa4kind\x05", 19,
			MESSAGE_SYNC_BEGIN},
		{"unknown key", "\x92\xa4ping\x82\xa3seq\x01\xa3zap\x91\xc0", 18, MESSAGE_PING},
		{"a third item", "\x93\xa4ping\x81\xa3seq\x01\xc0", 13, MESSAGE_PING},
	};
	struct message_reader *reader = message_reader_new();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct message message;
		struct schema_error error = {""};
		struct ping ping;
		struct arena arena;
		arena_init(&arena);
		if (message_open(reader, (struct str){cases[i].bytes, cases[i].len}, &message,
			    &error) != 0 ||
			message.type != cases[i].want)
			fail_msg("%s: %s", cases[i].name, error.text);
		if (message.type == MESSAGE_PING) {
			assert_int_equal(message_decode(&message, &arena, &ping, &error), 0);
			assert_int_equal(ping.seq, 1);
		}
		arena_fini(&arena);
	}
	message_reader_free(reader);
}

static void revisions_tell_contents_apart(void **state)
{
	(void)state;
	struct buf out;
	struct schema_error error;
	uint64_t first = 0;
	uint64_t second = 0;
	struct pool pool = {
		.key = {.kind = LB_POOL, .id = STR("a"), .rev = 1}, .service = {.name = STR("s")}};
	buf_init(&out, 65536);
	assert_int_equal(message_encode_object(&pool, &out, &first, &error), 0);
	pool.key.rev = 99;
	assert_int_equal(message_encode_object(&pool, &out, &second, &error), 0);
	assert_true(first == second && first != 0);
	pool.port = 80;
	assert_int_equal(message_encode_object(&pool, &out, &second, &error), 0);
	assert_true(first != second);
	buf_fini(&out);
}

static void a_value_over_its_limit_leaves_the_buffer_as_it_was(void **state)
{
	(void)state;
	struct buf out;
	struct schema_error error = {""};
	char long_name[300];
	memset(long_name, 'n', sizeof(long_name));
	struct ingress_path path = {.backend = {.service = {long_name, sizeof(long_name)}}};
	struct ingress_rule rules[2] = {{.host = STR("a")}, {.paths = {&path, 1}}};
	struct ingress_record record = {
		.key = {.kind = RECORD_INGRESS, .name = STR("x")}, .rules = {rules, 2}};
	buf_init(&out, 65536);
	assert_int_equal(buf_append(&out, "before", 6), 0);
	assert_int_equal(message_encode_record(&record, &out, &error), -22);
	assert_string_equal(error.text, "rules[1].paths[0].backend.service: longer than 253 bytes");
	assert_true(str_eq_c(buf_str(&out), "before"));
	buf_fini(&out);
}

/* ---- no memory is left ---- */

static bool is_memory_out;

/* Stands before msgpack-c's own, which it calls. Its name and types are msgpack-c's. */
[[gnu::visibility("default")]] void *msgpack_zone_malloc_expand(msgpack_zone *zone, size_t size)
{
	void *(*expand)(msgpack_zone *, size_t) = NULL;
	*(void **)&expand = dlsym(RTLD_NEXT, "msgpack_zone_malloc_expand");
	return is_memory_out ? NULL : expand(zone, size);
}

static void open_it(struct str payload)
{
	struct message message;
	struct schema_error error;
	(void)message_open(message_reader_new(), payload, &message, &error);
}

static void read_it_again(struct str payload)
{
	struct arena arena;
	struct pool pool;
	arena_init(&arena);
	message_read_kept(
		message_schema(MESSAGE_UPSERT, RECORD_NONE, LB_POOL), payload, &arena, &pool);
}

static void inspect_it(struct str payload)
{
	struct arena arena;
	struct pool pool;
	struct schema_error error;
	arena_init(&arena);
	(void)inspection_decode(message_schema(MESSAGE_UPSERT, RECORD_NONE, LB_POOL), payload,
		&arena, &pool, &error);
}

static void tell_cause(enum fatal_cause cause, const char *reason)
{
	printf("%s: %s\n", cause == FATAL_OUT_OF_MEMORY ? "out of memory" : "something else",
		reason);
	fflush(stdout);
}

static void ends_out_of_memory(void (*use)(struct str payload), struct str payload)
{
	int ends[2];
	char told[256] = "";
	int status = 0;
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		fatal_set_writer(tell_cause);
		is_memory_out = true;
		use(payload);
		_exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(read(ends[0], told, sizeof(told) - 1) > 0);
	close(ends[0]);
	assert_string_equal(told, "out of memory: no memory is left; the process ends\n");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
}

/* What is kept was good once: that it cannot be read says nothing against it. */
static void no_memory_is_told_as_such(void **state)
{
	static struct pool_endpoint endpoints[1000];
	struct pool pool = {.key = {.kind = LB_POOL, .id = STR("a")},
		.service = {.name = STR("s")},
		.endpoints = {endpoints, 1000}};
	struct buf out;
	struct schema_error error;
	uint64_t rev = 0;
	(void)state;
	for (size_t i = 0; i < 1000; i++)
		endpoints[i] = (struct pool_endpoint){.ip = STR("10.0.0.1"), .port = i + 1};
	buf_init(&out, 1024 * 1024);
	assert_int_equal(message_encode_object(&pool, &out, &rev, &error), 0);
	struct str payload = str_skip(buf_str(&out), FRAME_HEAD_LEN);
	ends_out_of_memory(open_it, payload);
	ends_out_of_memory(read_it_again, payload);
	ends_out_of_memory(inspect_it, payload);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_survive_the_round_trip),
		cmocka_unit_test(refused_vectors_are_refused),
		cmocka_unit_test(vectors_cover_every_message),
		cmocka_unit_test(unknown_types_kinds_and_keys_are_skipped),
		cmocka_unit_test(revisions_tell_contents_apart),
		cmocka_unit_test(a_value_over_its_limit_leaves_the_buffer_as_it_was),
		cmocka_unit_test(no_memory_is_told_as_such),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
