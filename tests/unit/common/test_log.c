// SPDX-License-Identifier: Apache-2.0
#include "common/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { LINE_ROOM = 4096, BURST = 20 };

static struct log_event events[] = {
	{.name = "a-fault", .level = LOG_LEVEL_ERROR},
	{.name = "a-warning", .level = LOG_LEVEL_WARN},
	{.name = "a-change", .level = LOG_LEVEL_INFO},
	{.name = "a-detail", .level = LOG_LEVEL_DEBUG},
};

/* What `print` writes on standard error while that is a file, and `stream` is in the environment: "ours" is what the
 * manager would say of that file. */
static void capture(const char *stream, enum log_format format, void (*print)(int index), int index,
	char ret_text[LINE_ROOM])
{
	char path[] = "/tmp/sluice-test-log.XXXXXX";
	char named[64];
	struct stat status;
	int file = mkstemp(path);
	int before = dup(STDERR_FILENO);
	assert_true(file >= 0 && before >= 0 && fstat(file, &status) == 0);
	snprintf(named, sizeof(named), "%ju:%ju", (uintmax_t)status.st_dev,
		(uintmax_t)status.st_ino);
	if (stream == NULL)
		unsetenv("JOURNAL_STREAM");
	else
		setenv("JOURNAL_STREAM", strcmp(stream, "ours") == 0 ? named : stream, 1);
	dup2(file, STDERR_FILENO);
	log_init("sluice-test", LOG_LEVEL_DEBUG, format);
	print(index);
	dup2(before, STDERR_FILENO);
	ssize_t len = pread(file, ret_text, LINE_ROOM - 1, 0);
	assert_true(len >= 0);
	ret_text[len] = '\0';
	close(file);
	close(before);
	unlink(path);
}

static void print_event(int index)
{
	events[index].used = false;
	log_event(&events[index], LOG_STR("path", "/a b"));
}

static void print_fatal(int index)
{
	log_fatal(&events[index], "\"x\" \\ y");
}

/* `line` behind the time. */
static void lines_fit_where_they_go(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		const char *stream;
		enum log_format format;
		int event;
		void (*print)(int index);
		bool has_time;
		const char *line;
	} table[] = {
		{"no journal", NULL, LOG_FORMAT_LOGFMT, 0, print_event, true,
			"level=error program=sluice-test event=a-fault path=\"/a b\"\n"},
		{"the journal of somebody else", "1:2", LOG_FORMAT_LOGFMT, 0, print_event, true,
			"level=error program=sluice-test event=a-fault path=\"/a b\"\n"},
		{"nonsense", "journal", LOG_FORMAT_LOGFMT, 0, print_event, true,
			"level=error program=sluice-test event=a-fault path=\"/a b\"\n"},
		{"error", "ours", LOG_FORMAT_LOGFMT, 0, print_event, false,
			"<3>level=error program=sluice-test event=a-fault path=\"/a b\"\n"},
		{"warn", "ours", LOG_FORMAT_LOGFMT, 1, print_event, false,
			"<4>level=warn program=sluice-test event=a-warning path=\"/a b\"\n"},
		{"info", "ours", LOG_FORMAT_LOGFMT, 2, print_event, false,
			"<6>level=info program=sluice-test event=a-change path=\"/a b\"\n"},
		{"debug", "ours", LOG_FORMAT_LOGFMT, 3, print_event, false,
			"<7>level=debug program=sluice-test event=a-detail path=\"/a b\"\n"},
		{"JSON in the journal", "ours", LOG_FORMAT_JSON, 1, print_event, false,
			"<4>{\"level\":\"warn\",\"program\":\"sluice-test\",\"event\":\"a-"
			"warning\","
			"\"path\":\"/a b\"}\n"},
		{"JSON", NULL, LOG_FORMAT_JSON, 1, print_event, true,
			"\"level\":\"warn\",\"program\":\"sluice-test\",\"event\":\"a-warning\","
			"\"path\":\"/a b\"}\n"},
		{"last words", "ours", LOG_FORMAT_LOGFMT, 0, print_fatal, false,
			"<3>level=error program=sluice-test event=a-fault reason=\"\\\"x\\\" \\\\ "
			"y\"\n"},
		{"last words in JSON", "ours", LOG_FORMAT_JSON, 0, print_fatal, false,
			"<3>{\"level\":\"error\",\"program\":\"sluice-test\",\"event\":\"a-fault\","
			"\"reason\":\"\\\"x\\\" \\\\ y\"}\n"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[LINE_ROOM];
		capture(table[i].stream, table[i].format, table[i].print, table[i].event, text);
		const char *rest = text;
		const char *time = table[i].format == LOG_FORMAT_JSON ? "{\"ts\":\"2" : "ts=2";
		bool has_time = strncmp(text, time, strlen(time)) == 0;
		if (has_time)
			rest = strstr(
				text, table[i].format == LOG_FORMAT_JSON ? "\"level" : "level");
		if (has_time != table[i].has_time || strcmp(rest, table[i].line) != 0)
			fail_msg("%s: %s", table[i].name, text);
	}
}

/* ---- repeated lines ---- */

static struct {
	size_t count;
	char last[LINE_ROOM];
} seen;

static void keep_line(void *ctx, const struct log_event *event, struct str line)
{
	(void)ctx;
	(void)event;
	seen.count++;
	snprintf(seen.last, sizeof(seen.last), "%.*s", STR_FMT(line));
}

static void what_repeats_is_limited_by_event(void **state)
{
	(void)state;
	unsetenv("JOURNAL_STREAM");
	log_init("sluice-test", LOG_LEVEL_DEBUG, LOG_FORMAT_LOGFMT);
	seen.count = 0;
	log_set_sink(keep_line, NULL);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		events[i].used = false;
	for (int i = 0; i < 10 * BURST; i++)
		log_event(&events[0], LOG_INT("n", i));
	/* As slow as the machine may be, it is not as slow as a line a second. */
	assert_in_range(seen.count, BURST, 2 * BURST);
	size_t before = seen.count;
	log_event(&events[1]);
	assert_int_equal(seen.count, before + 1);
	assert_null(strstr(seen.last, "suppressed"));
	/* Later there is room again, and the line tells of those that had none. */
	uint64_t left_out = events[0].suppressed;
	char told[64];
	assert_true(left_out > 0);
	events[0].refilled_at -= 1.5;
	log_event(&events[0], LOG_INT("n", 1));
	assert_int_equal(seen.count, before + 2);
	snprintf(told, sizeof(told), " suppressed=%ju", (uintmax_t)left_out);
	if (strstr(seen.last, told) == NULL)
		fail_msg("\"%s\" has no%s", seen.last, told);
	assert_int_equal(events[0].suppressed, 0);
	log_set_sink(NULL, NULL);
}

/* ---- what lines are made of ---- */

static void foreign_text_is_quoted(void **state)
{
	(void)state;
	static const struct {
		const char *in;
		const char *want;
	} table[] = {
		{"plain", " text=plain"},
		{"", " text=\"\""},
		{"a b", " text=\"a b\""},
		{"a=b", " text=\"a=b\""},
		{"\"\\", " text=\"\\\"\\\\\""},
		{"a\nlevel=error event=forged", " text=\"a\\nlevel=error event=forged\""},
		{"\x1b[2J", " text=\"\\u001b[2J\""},
		{"\xff", " text=\"\\ufffd\""},
		{"\xc3\xa4", " text=\"\xc3\xa4\""},
	};
	log_set_sink(keep_line, NULL);
	unsetenv("JOURNAL_STREAM");
	log_init("sluice-test", LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		events[2].used = false;
		log_event(&events[2], LOG_STR("text", table[i].in));
		assert_string_equal(strstr(seen.last, " text="), table[i].want);
	}
	size_t before = seen.count;
	log_event(&events[3]);
	assert_int_equal(seen.count, before);
	log_set_sink(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_fit_where_they_go),
		cmocka_unit_test(what_repeats_is_limited_by_event),
		cmocka_unit_test(foreign_text_is_quoted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
