// SPDX-License-Identifier: Apache-2.0
#include "common/log.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/fatal.h"
#include "common/log_events.h"
#include "common/must.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LOG_LINE_MAX = 16 * 1024, /* a longer line is cut, never split */
	LOG_VALUE_MAX = 4 * 1024, /* of one field, before escaping */
	LOG_LAST_LINE_MAX = 1024,
	LOG_HEAD_MAX = 256,
	LOG_BURST = 20,
	LOG_PROBLEM_MAX = 1024, /* of the last problem; the rest is cut */
};
static const double LOG_REFILL_PER_S = 1.0;

static struct {
	const char *program;
	enum log_level level;
	enum log_format format;
	bool is_journal; /* standard error is the journal */
	void (*sink)(void *ctx, const struct log_event *event, struct str line);
	void *sink_ctx;
	struct log_problem problem;
	char problem_text[LOG_PROBLEM_MAX];
} logger = {.program = "sluice", .level = LOG_LEVEL_INFO};

static const char *const LEVEL_NAMES[] = {"error", "warn", "info", "debug"};
/* sd-daemon(3): LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG of syslog(3). */
static const char *const JOURNAL_PREFIXES[] = {"<3>", "<4>", "<6>", "<7>"};

/* systemd.exec(5): JOURNAL_STREAM is inherited, so it counts only if it names the current descriptor 2. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat status;
	char named[64];
	if (stream == NULL || fstat(STDERR_FILENO, &status) != 0)
		return false;
	snprintf(named, sizeof(named), "%ju:%ju", (uintmax_t)status.st_dev,
		(uintmax_t)status.st_ino);
	return strcmp(stream, named) == 0;
}

static void write_fatal(enum fatal_cause cause, const char *reason)
{
	log_fatal(cause == FATAL_OUT_OF_MEMORY ? &EV_OUT_OF_MEMORY : &EV_BROKEN_INVARIANT, reason);
}

void log_init(const char *program, enum log_level level, enum log_format format)
{
	logger.program = program;
	logger.level = level;
	logger.format = format;
	logger.is_journal = is_journal();
	fatal_set_writer(write_fatal);
}

const char *log_prefix(enum log_level level)
{
	return logger.is_journal ? JOURNAL_PREFIXES[level] : "";
}

bool log_enabled(enum log_level level)
{
	return level <= logger.level;
}

void log_set_sink(
	void (*sink)(void *ctx, const struct log_event *event, struct str line), void *ctx)
{
	logger.sink = sink;
	logger.sink_ctx = ctx;
}

struct str log_errno_text(int err)
{
	return str_from(strerror(err < 0 ? -err : err));
}

/* A token bucket per event: a repeating fault must not fill a disk, and its first lines must not be lost. */
static bool take_token(struct log_event *event)
{
	double now = clock_monotonic_s();
	if (!event->used) {
		event->used = true;
		event->tokens = LOG_BURST;
	} else {
		event->tokens += (now - event->refilled_at) * LOG_REFILL_PER_S;
		if (event->tokens > LOG_BURST)
			event->tokens = LOG_BURST;
	}
	event->refilled_at = now;
	if (event->tokens < 1.0) {
		event->suppressed++;
		return false;
	}
	event->tokens -= 1.0;
	return true;
}

static bool is_bare(struct str text)
{
	if (text.len == 0)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
			return false;
	}
	return true;
}

/* Quoted as a JSON string, which logfmt readers expect as well. Invalid UTF-8 is shown as \ufffd, so that
 * neither a terminal nor a log reader can be fooled. A full line buffer cuts the line, hence the ignored
 * results. */
static void put_quoted(struct buf *line, struct str text)
{
	(void)!buf_append(line, "\"", 1);
	bool utf8 = str_is_utf8(text);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c == '"' || c == '\\')
			(void)!buf_printf(line, "\\%c", c);
		else if (c == '\n')
			(void)!buf_append(line, "\\n", 2);
		else if (c == '\t')
			(void)!buf_append(line, "\\t", 2);
		else if (c < 0x20 || c == 0x7f)
			(void)!buf_printf(line, "\\u%04x", c);
		else if (c >= 0x80 && !utf8)
			(void)!buf_append(line, "\\ufffd", 6);
		else
			(void)!buf_append(line, &c, 1);
	}
	(void)!buf_append(line, "\"", 1);
}

static struct str cut_value(struct str text)
{
	if (text.len <= LOG_VALUE_MAX)
		return text;
	size_t len = LOG_VALUE_MAX;
	/* Never inside a UTF-8 sequence. */
	while (len > 0 && ((unsigned char)text.p[len] & 0xc0) == 0x80)
		len--;
	return (struct str){text.p, len};
}

static void put_field(struct buf *line, const struct log_field *field, bool json)
{
	if (json)
		(void)!buf_printf(line, ",\"%s\":", field->key);
	else
		(void)!buf_printf(line, " %s=", field->key);
	if (field->type == LOG_FIELD_INT) {
		(void)!buf_printf(line, "%" PRId64, field->number);
	} else if (field->type == LOG_FIELD_DOUBLE) {
		(void)!buf_printf(line, "%.3f", field->real);
	} else {
		struct str text = cut_value(field->text);
		if (!json && is_bare(text))
			(void)!buf_append_str(line, text);
		else
			put_quoted(line, text);
	}
}

/* The journal has its own timestamps. */
static void print_stamp(char *out, size_t room)
{
	struct timespec now = clock_wall();
	struct tm utc;
	char stamp[32];
	if (logger.is_journal)
		return;
	gmtime_r(&now.tv_sec, &utc);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(out, room,
		logger.format == LOG_FORMAT_JSON ? "\"ts\":\"%s.%03ldZ\"," : "ts=%s.%03ldZ ", stamp,
		now.tv_nsec / 1000000);
}

/* Without the heap, because it is also used for fatal errors. */
static void print_head(char *out, size_t room, const struct log_event *event)
{
	char stamp[64] = "";
	print_stamp(stamp, sizeof(stamp));
	snprintf(out, room,
		logger.format == LOG_FORMAT_JSON
			? "%s{%s\"level\":\"%s\",\"program\":\"%s\",\"event\":\"%s\""
			: "%s%slevel=%s program=%s event=%s",
		log_prefix(event->level), stamp, LEVEL_NAMES[event->level], logger.program,
		event->name);
}

struct log_problem log_last_problem(void)
{
	return logger.problem;
}

static void remember(const struct log_event *event, const struct log_field *fields, size_t count)
{
	struct buf text;
	buf_init(&text, LOG_PROBLEM_MAX);
	(void)!buf_printf(&text, "%s", event->name);
	/* Whole fields only. */
	for (size_t i = 1; i < count; i++) {
		size_t before = buf_len(&text);
		put_field(&text, &fields[i], false);
		if (buf_len(&text) + 1 >= LOG_PROBLEM_MAX) {
			buf_cut(&text, before);
			break;
		}
	}
	size_t len = buf_len(&text);
	memcpy(logger.problem_text, buf_data(&text), len);
	logger.problem = (struct log_problem){
		.at_s = clock_wall_s(),
		.remedy = event->remedy,
		.text = {logger.problem_text, len},
	};
	buf_fini(&text);
}

static void emit(const struct log_event *event, struct buf *line)
{
	if (logger.sink != NULL) {
		logger.sink(logger.sink_ctx, event, buf_str(line));
		return;
	}
	if (buf_append(line, "\n", 1) != 0)
		return;
	/* One write per line keeps lines whole when several processes share the descriptor. A failure
	 * cannot be reported. */
	ssize_t ignored = write(STDERR_FILENO, buf_data(line), buf_len(line));
	(void)ignored;
}

void log_event_fields(struct log_event *event, const struct log_field *fields, size_t count)
{
	if (!log_enabled(event->level) || !take_token(event))
		return;
	int saved_errno = errno;
	bool is_json = logger.format == LOG_FORMAT_JSON;
	struct buf line;
	char head[LOG_HEAD_MAX];
	/* Not-ready lines are reported elsewhere, and must not hide their cause. */
	if (event->level <= LOG_LEVEL_WARN && event != &EV_NOT_READY)
		remember(event, fields, count);
	buf_init(&line, LOG_LINE_MAX);
	print_head(head, sizeof(head), event);
	(void)!buf_append_str(&line, str_from(head));
	for (size_t i = 1; i < count; i++)
		put_field(&line, &fields[i], is_json);
	if (event->suppressed != 0) {
		put_field(&line, &LOG_INT("suppressed", event->suppressed), is_json);
		event->suppressed = 0;
	}
	if (is_json)
		(void)!buf_append(&line, "}", 1);
	emit(event, &line);
	buf_fini(&line);
	errno = saved_errno;
}

void log_fatal(const struct log_event *event, const char *reason)
{
	char line[LOG_LAST_LINE_MAX];
	print_head(line, LOG_HEAD_MAX, event);
	bool json = logger.format == LOG_FORMAT_JSON;
	const char *end = json ? "\"}\n" : "\"\n";
	size_t len = strlen(line);
	len += (size_t)snprintf(
		line + len, sizeof(line) - len, json ? ",\"reason\":\"" : " reason=\"");
	for (; *reason != '\0' && len + 3 + strlen(end) < sizeof(line); reason++) {
		if (*reason == '"' || *reason == '\\')
			line[len++] = '\\';
		line[len++] = *reason;
	}
	len += (size_t)snprintf(line + len, sizeof(line) - len, "%s", end);
	ssize_t ignored = write(STDERR_FILENO, line, len);
	(void)ignored;
}

/* ---- the catalogue ---- */

static const struct log_event *next_by_name(const struct log_event *last)
{
	const struct log_event *best = NULL;
	/* Both symbols are the ends of one array. */
	// cppcheck-suppress comparePointers
	for (struct log_event *const *at = __start_log_events; at < __stop_log_events; at++) {
		const struct log_event *event = *at;
		must(event != NULL);
		if ((last == NULL || strcmp(event->name, last->name) > 0) &&
			(best == NULL || strcmp(event->name, best->name) < 0))
			best = event;
	}
	return best;
}

void log_print_events(FILE *out)
{
	const struct log_event *event = NULL;
	while ((event = next_by_name(event)) != NULL)
		fprintf(out, "%s (%s)\n  meaning: %s\n  what to do: %s\n\n", event->name,
			LEVEL_NAMES[event->level], event->meaning, event->remedy);
}
