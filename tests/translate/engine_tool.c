// SPDX-License-Identifier: Apache-2.0
/*
 * The engine of the translator without sockets and clock, for tests: the translator's options as
 * arguments, commands on standard input, frames on standard output.
 *
 *   command = letter, 4-byte big-endian length, that many bytes
 *
 *   T text     the time, seconds since 1970
 *   U / u      a watcher connects / is gone
 *   S payload  a message from it
 *   V payload  a provider connects and says this hello
 *   v          it is gone
 *   P payload  a message from it
 *   W text     work; "source N" and "provider N", one a line, limit how many frames each takes,
 *              none otherwise
 *
 * Answers have the same form: `s` and `p` are frames to the watcher and to the provider, `e` is the
 * text with which a message was refused, `w` ends the answers to a W and holds what is missing, if
 * anything.
 */
#include "common/log.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "translator/config.h"
#include "translator/engine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUT_MAX = 64 * 1024 * 1024, COMMAND_LEN_MAX = 8 * 1024 * 1024 };

struct side {
	char letter;
	bool up;
	long room;
	struct buf out;
};

static struct side source = {.letter = 's'};
static struct side provider = {.letter = 'p'};
static struct engine *engine;
static struct translator_config config; /* kept for the engine */
static struct egress *egress;           /* likewise */
static struct message_reader *reader;

static void answer(char letter, struct str bytes)
{
	unsigned char head[5] = {(unsigned char)letter, (unsigned char)(bytes.len >> 24),
		(unsigned char)(bytes.len >> 16), (unsigned char)(bytes.len >> 8),
		(unsigned char)bytes.len};
	must(fwrite(head, 1, sizeof(head), stdout) == sizeof(head));
	if (bytes.len != 0)
		must(fwrite(bytes.p, 1, bytes.len, stdout) == bytes.len);
}

static void drain(struct side *side)
{
	struct str payload;
	while (frame_next(&side->out, &payload) == FRAME_READY) {
		answer(side->letter, payload);
		buf_consume(&side->out, frame_len_of(payload));
		if (side->room > 0)
			side->room--;
	}
}

static struct buf *room_of(struct side *side)
{
	drain(side);
	return side->up && side->room > 0 ? &side->out : NULL;
}

static struct buf *source_out(void *ctx)
{
	(void)ctx;
	return room_of(&source);
}

static struct buf *provider_out(void *ctx)
{
	(void)ctx;
	return room_of(&provider);
}

static void flush(void *ctx)
{
	(void)ctx;
}

static const struct engine_ops ops = {
	.source_out = source_out,
	.source_flush = flush,
	.provider_out = provider_out,
	.provider_flush = flush,
};

/* The next line of *text, copied; NULL at the end. */
static char *next_line(struct str *text)
{
	if (text->len == 0)
		return NULL;
	const char *end = memchr(text->p, '\n', text->len);
	size_t len = end != NULL ? (size_t)(end - text->p) : text->len;
	char *line = str_dup((struct str){text->p, len});
	*text = str_skip(*text, end != NULL ? len + 1 : len);
	return line;
}

/* What this machine's environment says is no part of a test. */
static char *no_variable(const char *name)
{
	(void)name;
	return NULL;
}

static void configure(int argc, char **argv)
{
	struct engine_config engine_config;
	char *problem = NULL;
	must(options_parse(&translator_config_table, &config, argc, argv, no_variable, &problem) ==
		OPTIONS_OK);
	must(translator_config_check(&config, &engine_config) == NULL);
	egress = engine_config.egress;
	engine = engine_new(&engine_config, &ops, NULL);
}

static void take(struct str payload, bool from_source)
{
	struct schema_error error = {""};
	struct message message;
	int err = message_open(reader, payload, &message, &error);
	if (err == 0 && message.type != MESSAGE_UNKNOWN)
		err = from_source ? engine_source_message(engine, &message, &error)
				  : engine_provider_message(engine, &message, &error);
	if (err != 0)
		answer('e', str_from(error.text));
}

static void provider_up(struct str payload)
{
	struct schema_error error = {""};
	struct message message;
	struct hello hello;
	struct arena arena;
	arena_init(&arena);
	must(message_open(reader, payload, &message, &error) == 0);
	must(message.type == MESSAGE_HELLO);
	must(message_decode(&message, &arena, &hello, &error) == 0);
	provider.up = true;
	engine_provider_up(engine, &hello);
	arena_fini(&arena);
}

static void run(struct str text)
{
	char *line = NULL;
	source.room = provider.room = LONG_MAX;
	while ((line = next_line(&text)) != NULL) {
		if (strncmp(line, "source ", 7) == 0)
			source.room = strtol(line + 7, NULL, 10);
		else if (strncmp(line, "provider ", 9) == 0)
			provider.room = strtol(line + 9, NULL, 10);
		free(line);
	}
	bool more = true;
	while (more)
		more = engine_work(engine);
	drain(&source);
	drain(&provider);
	answer('w', str_from(engine_missing(engine)));
	fflush(stdout);
	source.room = provider.room = 0;
}

static void ignore_line(void *ctx, const struct log_event *event, struct str line)
{
	(void)ctx;
	(void)event;
	(void)line;
}

static void obey(char letter, struct str bytes)
{
	switch (letter) {
	case 'T': {
		char *text = str_dup(bytes);
		engine_set_time(engine, strtoll(text, NULL, 10));
		free(text);
		return;
	}
	case 'U':
		source.up = true;
		engine_source_up(engine);
		return;
	case 'u':
		source.up = false;
		buf_clear(&source.out);
		engine_source_down(engine);
		return;
	case 'V':
		provider_up(bytes);
		return;
	case 'v':
		provider.up = false;
		buf_clear(&provider.out);
		engine_provider_down(engine);
		return;
	case 'S':
	case 'P':
		take(bytes, letter == 'S');
		return;
	case 'W':
		run(bytes);
		return;
	default:
		must(false);
	}
}

int main(int argc, char **argv)
{
	unsigned char head[5];
	log_set_sink(ignore_line, NULL);
	configure(argc, argv);
	reader = message_reader_new();
	buf_init(&source.out, OUT_MAX);
	buf_init(&provider.out, OUT_MAX);
	while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
		size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 |
			     head[4];
		must(len <= COMMAND_LEN_MAX);
		/* As long as it is, so that reading beyond its end is found. */
		char *bytes = xmalloc(len != 0 ? len : 1);
		must(fread(bytes, 1, len, stdin) == len);
		obey((char)head[0], (struct str){bytes, len});
		free(bytes);
	}
	engine_free(engine);
	egress_free(egress);
	options_free(&translator_config_table, &config);
	message_reader_free(reader);
	buf_fini(&source.out);
	buf_fini(&provider.out);
	return 0;
}
