// SPDX-License-Identifier: Apache-2.0
/*
 * One line per event on standard error, logfmt or JSON: `level=info event=link-up peer=provider
 * name=rancher`.
 *
 * Events are declared in a catalogue, the log_events.def of each folder: identifier, level, name,
 * what it means, what the operator should do. So any name seen in a log can be looked up in one
 * list. Library code does not log, it returns; a process logs once, at the point of decision.
 *
 *   log_event(&EV_LINK_UP, LOG_STR("peer", role), LOG_INT("protocol", 1));
 *
 * Untrusted text is quoted, and control bytes and invalid UTF-8 are escaped. Secrets have no
 * formatter. Repeated events are rate-limited: after a burst, one line a second, with the number of
 * suppressed lines as `suppressed=N`.
 *
 * Where standard error is the journal, each line begins with its priority (sd-daemon(3)) and has no
 * time, which the journal adds.
 */
#pragma once

#include "common/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level {
	LOG_LEVEL_ERROR, /* a person must act */
	LOG_LEVEL_WARN,  /* degraded, and being retried */
	LOG_LEVEL_INFO,  /* a change of state */
	LOG_LEVEL_DEBUG, /* for developers */
};

enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

/* An entry of a catalogue. The last four members are the state of the rate limit. */
struct log_event {
	const char *name;
	enum log_level level;
	const char *meaning;
	const char *remedy;
	double tokens;
	double refilled_at;
	uint64_t suppressed;
	bool used;
};

/* A .def line is LOG_EVENT(EV_X, INFO, "name", "meaning", "remedy"). The folder's log_events.h
 * includes the .def after LOG_EVENTS_DECLARE-style macros, its log_events.c after the defining one.
 */
#define LOG_EVENT_DECLARE(id, level_, name_, meaning_, remedy_) extern struct log_event id;
#define LOG_EVENT_DEFINE(id, level_, name_, meaning_, remedy_) \
	struct log_event id = {.name = (name_),                \
		.level = LOG_LEVEL_##level_,                   \
		.meaning = (meaning_),                         \
		.remedy = (remedy_)};                          \
	[[gnu::section("log_events"), gnu::used]] static struct log_event *const id##_listed = &id;

/* All events of a program, by pointer: the linker puts them side by side and makes these names. */
extern struct log_event *const __start_log_events[];
extern struct log_event *const __stop_log_events[];

enum log_field_type { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_DOUBLE };

struct log_field {
	const char *key;
	enum log_field_type type;
	struct str text;
	int64_t number;
	double real;
};

#define LOG_STR(key_, c_string) \
	((struct log_field){.key = (key_), .type = LOG_FIELD_STR, .text = str_from(c_string)})
#define LOG_TEXT(key_, str_) \
	((struct log_field){.key = (key_), .type = LOG_FIELD_STR, .text = (str_)})
#define LOG_INT(key_, value) \
	((struct log_field){.key = (key_), .type = LOG_FIELD_INT, .number = (int64_t)(value)})
#define LOG_SECONDS(key_, value) \
	((struct log_field){.key = (key_), .type = LOG_FIELD_DOUBLE, .real = (value)})
/* errno or a negative errno as text. */
#define LOG_ERRNO(err) \
	((struct log_field){.key = "error", .type = LOG_FIELD_STR, .text = log_errno_text(err)})

#define log_event(event, ...)                                                     \
	log_event_fields((event), (const struct log_field[]){{0}, ##__VA_ARGS__}, \
		sizeof((const struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field))

/* fields[0] is a placeholder that is skipped, so that an event without fields is still an array. */
void log_event_fields(struct log_event *event, const struct log_field *fields, size_t count);

/* Before log_init() the level is info and the format logfmt. `program` is kept. */
void log_init(const char *program, enum log_level level, enum log_format format);
bool log_enabled(enum log_level level);
/* The prefix of lines of that level: "" or, in the journal, the priority. */
const char *log_prefix(enum log_level level);
/* A line of a process that ends because it cannot go on: needs neither the heap nor a token. */
void log_fatal(const struct log_event *event, const char *reason);
/* All events of this program, what they mean and what to do about them. */
void log_print_events(FILE *out);
struct str log_errno_text(int err);

/* The last warning or error that was logged. `text` is its name and fields, as in a log line. */
struct log_problem {
	int64_t at_s; /* since 1970; 0: there was none */
	const char *remedy;
	struct str text; /* valid until the next one */
};
struct log_problem log_last_problem(void);

/* For tests and filters: lines go to `sink` instead of standard error; NULL restores. The line has no newline.
 */
void log_set_sink(
	void (*sink)(void *ctx, const struct log_event *event, struct str line), void *ctx);
