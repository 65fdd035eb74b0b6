// SPDX-License-Identifier: Apache-2.0
/*
 * Anything in every field of what provider-haproxy is sent: its configuration has no line but those that a harmless state has too, a text of
 * a tenant is one quoted word where one may stand, and what goes over HAProxy's socket is one command.
 */
#include "render_world.h"

#include "common/must.h"
#include "provider-haproxy/class.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/policies.h"
#include "provider-haproxy/pools.h"
#include "provider-haproxy/quote.h"

#include <stdlib.h>

enum { WORDS_MAX = 64 /* HAProxy's own limit for a line */, LINE_LEN_MAX = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---- in place of the files that pools.c calls ---- */

void disk_want_late_flush(struct disk *disk)
{
	(void)disk;
}

void disk_want_flush(struct disk *disk)
{
	(void)disk;
}

void engine_wake(struct engine *engine)
{
	(void)engine;
}

/* ---- HAProxy's grammar: configuration manual, section 2.2 ---- */

struct line {
	struct str words[WORDS_MAX]; /* without their quotes and backslashes */
	bool is_quoted[WORDS_MAX];
	size_t count;
	char *room; /* for words, all of which together are no longer than the line */
};

/* A backslash and what follows, as HAProxy reads it; before a character without a meaning the backslash stays. */
static size_t unescape(struct str *rest, char *word)
{
	static const char known[] = "\\\"' #$nrt";
	static const char meant[] = "\\\"' #$\n\r\t";
	must(rest->len > 1);
	char c = rest->p[1];
	unsigned byte = 0;
	const char *place = strchr(known, c);
	must(c != 'x' || (rest->len >= 4 && sscanf(rest->p + 2, "%2x", &byte) == 1));
	*rest = str_skip(*rest, c == 'x' ? 4 : 2);
	word[0] = c == 'x' ? (char)byte : place != NULL ? meant[place - known] : '\\';
	word[1] = c;
	return c == 'x' || place != NULL ? 1 : 2;
}

/* The word that `rest` begins with. A `$` without backslash in double quotes would be a variable of the environment. */
static struct str next_word(struct str *rest, char *word, bool *ret_is_quoted)
{
	size_t len = 0;
	char quote = 0;
	*ret_is_quoted = rest->p[0] == '"';
	while (rest->len != 0) {
		char c = rest->p[0];
		if (quote == 0 && (c == ' ' || c == '\t'))
			break;
		must(quote != 0 || c != '#');
		must(quote != '"' || c != '$');
		if (c == '\\' && quote != '\'') {
			len += unescape(rest, word + len);
			continue;
		}
		*rest = str_skip(*rest, 1);
		if (quote == 0 && (c == '"' || c == '\''))
			quote = c;
		else if (quote != 0 && c == quote)
			quote = 0;
		else
			word[len++] = c;
	}
	must(quote == 0);
	return (struct str){word, len};
}

static void split(struct str text, struct line *line)
{
	while (text.len != 0) {
		if (text.p[0] == ' ' || text.p[0] == '\t') {
			text = str_skip(text, 1);
			continue;
		}
		must(line->count < WORDS_MAX);
		line->words[line->count] =
			next_word(&text, line->room, &line->is_quoted[line->count]);
		line->room += line->words[line->count].len;
		line->count++;
	}
}

/* ---- the form of a line ---- */

/* Address, port, and how TLS is spoken. */
static bool is_server_name(struct str word)
{
	size_t tail = NAME_LEN + 1;
	if (word.len > tail && word.p[word.len - tail] == '_' &&
		name_is_one(NAME_TRUST, str_skip(word, word.len - NAME_LEN)))
		word.len -= tail;
	const char *end = word.len != 0 ? memrchr(word.p, '_', word.len) : NULL;
	int64_t port;
	if (end == NULL || !str_to_int(str_skip(word, (size_t)(end - word.p) + 1), 1, 65535, &port))
		return false;
	for (const char *c = word.p; c < end; c++) {
		if (strchr("0123456789abcdef.-", *c) == NULL)
			return false;
	}
	return true;
}

/* In the line of a server only what cannot be anything else stands without quotes. */
static const char *server_slot_of(const struct world *world, struct str before, struct str word)
{
	static const char sni[] = "str(";
	bool is_sni = str_eq_c(before, "sni") && str_starts_with(word, str_from(sni)) &&
		      str_ends_with(word, STR(")"));
	if (is_sni)
		word = (struct str){word.p + sizeof(sni) - 1, word.len - sizeof(sni)};
	if (!is_sni && !str_eq_c(before, "verifyhost") && !str_eq_c(before, "check-sni"))
		return NULL;
	if (!check_server_name(word) || !world_has_text(world, word))
		return NULL;
	return is_sni ? "str(<host>)" : "<host>";
}

/* The text of a tenant that may stand behind these words. */
static const char *slot_of(const struct world *world, const struct line *line, size_t i)
{
	struct str word = line->words[i];
	struct str before = i != 0 ? line->words[i - 1] : STR("");
	if (i > 2 && str_eq_c(line->words[0], "server"))
		return server_slot_of(world, before, word);
	if (!line->is_quoted[i] || !world_has_text(world, word))
		return NULL;
	if (str_eq_c(before, "cookie") && i == 1)
		return check_cookie_name(word) ? "<cookie>" : NULL;
	if (str_eq_c(before, "domain") && str_eq_c(line->words[0], "cookie"))
		return check_host(word) ? "<host>" : NULL;
	if (str_eq_c(before, "uri") && str_eq_c(line->words[0], "http-check"))
		return check_path(word) ? "<path>" : NULL;
	return NULL;
}

static void check_line(
	struct world *world, struct forms *forms, const char *mark, struct line *line)
{
	struct buf form;
	buf_init(&form, 2 * LINE_LEN_MAX);
	must(buf_append_str(&form, str_from(mark)) == 0);
	for (size_t i = 0; i < line->count; i++) {
		const char *slot = slot_of(world, line, i);
		struct str word = slot != NULL ? str_from(slot) : line->words[i];
		size_t start = buf_len(&form);
		if (i == 1 && str_eq_c(line->words[0], "server") && is_server_name(word))
			word = STR("<server>");
		forms_word(&form, word);
		/* However many there are. */
		struct str last = str_skip(buf_str(&form), start);
		if (i > 3 && str_eq_c(last, "<address> ") && str_eq_c(line->words[0], "acl"))
			buf_cut(&form, start);
	}
	forms_check(forms, buf_str(&form));
	buf_fini(&form);
}

static void check_text(struct world *world, struct forms *forms, struct str text)
{
	while (text.len != 0) {
		char room[LINE_LEN_MAX];
		struct line line = {.room = room};
		const char *end = memchr(text.p, '\n', text.len);
		must(end != NULL && end - text.p < LINE_LEN_MAX);
		struct str content = {text.p, (size_t)(end - text.p)};
		for (size_t i = 0; i < content.len; i++)
			must(content.p[i] == '\t' || (content.p[i] >= ' ' && content.p[i] < 0x7f));
		text = str_skip(text, content.len + 1);
		/* In these comments a group's class is kept, to be read back as lines. */
		bool is_class =
			str_starts_with(content, STR("#=")) || str_starts_with(content, STR("#+"));
		bool is_comment = !is_class && str_starts_with(content, STR("#"));
		if (is_comment)
			must(str_eq(content, STR("# Written by Sluice; changes are lost.")));
		else
			split(is_class ? str_skip(content, 2) : content, &line);
		if (!is_comment)
			check_line(world, forms, is_class ? "comment " : "", &line);
	}
}

/* ---- the provider ---- */

struct side {
	struct engine engine;
	struct config config;
	struct certs certs;
};

static void on_change(void *ctx, struct state *state, const struct state_commit *commit)
{
	struct side *side = ctx;
	(void)state;
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		bool is_removed = commit->changes[i].type == STATE_REMOVED;
		if (object_kind(object) == LB_POOL)
			pools_on_change(&side->engine, object, is_removed);
		if (object_kind(object) == LB_CERTIFICATE)
			certs_on_change(&side->certs, object, is_removed);
	}
	arena_reset(&side->engine.arena);
}

static void check_main(struct world *world, struct forms *forms, bool has_default)
{
	struct ports ports;
	struct arena arena;
	struct buf text;
	char description[RENDER_DESCRIPTION_LEN];
	struct render_input input = {
		.state_dir = WORLD_STATE_DIR,
		.proxy_dir = WORLD_PROXY_DIR,
		.socket = WORLD_PROXY_DIR "/haproxy.sock",
		.ports = &ports,
		.has_default = has_default,
		.hard_stop_after_s = 60,
	};
	arena_init(&arena);
	buf_init(&text, RENDER_LEN_MAX);
	ports_collect(world->state, world->routes, NULL, world->notices, NULL, &arena, &ports);
	render_main(&text, &input, description);
	/* A digest has letters, too. */
	char *place = memmem(buf_data(&text), buf_len(&text), description, strlen(description));
	must(place != NULL);
	memset(place, '0', strlen(description));
	check_text(world, forms, buf_str(&text));
	buf_fini(&text);
	arena_fini(&arena);
}

static void check_groups(struct world *world, struct forms *forms, const struct slots *slots)
{
	for (size_t i = 0; i < slots->group_count; i++) {
		struct slots again;
		struct buf text;
		slots_init(&again);
		buf_init(&text, RENDER_LEN_MAX);
		render_group(&text, slots->groups[i]);
		check_text(world, forms, buf_str(&text));
		must(render_read_group(buf_str(&text), &again));
		must(strcmp(again.groups[0]->sort->lines, slots->groups[i]->sort->lines) == 0);
		must(strcmp(again.groups[0]->sort->server, slots->groups[i]->sort->server) == 0);
		buf_fini(&text);
		slots_fini(&again);
	}
}

/* Also what the protocol would not let pass. */
static void check_classes(struct world *world, struct forms *forms)
{
	for (size_t i = 0; i < world->pool_count; i++) {
		const char *refused;
		struct class_text text = class_of_pool(&world->pools[i], "key", &refused);
		struct buf server;
		buf_init(&server, LINE_LEN_MAX);
		must(buf_printf(&server, "#+%s\n", text.server) == 0);
		check_text(world, forms, str_from(text.lines));
		check_text(world, forms, buf_str(&server));
		buf_fini(&server);
		class_text_fini(&text);
	}
}

/* ---- HAProxy's socket: management guide, section 9.3 ---- */

static void check_command(struct str key, struct arena *arena)
{
	struct buf text;
	buf_init(&text, 4 * QUOTE_WORD_LEN_MAX);
	if (quote_command(&text, key) == 0) {
		struct str quoted = buf_str(&text);
		char *word = arena_alloc(arena, quoted.len);
		size_t len = 0;
		for (size_t i = 0; i < quoted.len; i++) {
			bool is_escaped = quoted.p[i] == '\\';
			i += is_escaped;
			must(i < quoted.len);
			must((uint8_t)quoted.p[i] >= ' ' && quoted.p[i] != 0x7f);
			must(is_escaped || strchr(" ;\\", quoted.p[i]) == NULL);
			word[len++] = quoted.p[i];
		}
		must(str_eq(key, (struct str){word, len}));
	}
	buf_fini(&text);
}

static void check_commands(struct world *world)
{
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < world->text_count; i++)
		check_command(world->texts[i], &arena);
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct row *row = rows_first(world->rows, (enum row_table)table);
		for (; row != NULL; row = rows_next(row)) {
			struct buf text;
			buf_init(&text, 4 * QUOTE_WORD_LEN_MAX);
			must(quote_command(&text, row_key(row)) == 0);
			buf_fini(&text);
			check_command(row_key(row), &arena);
		}
	}
	arena_fini(&arena);
}

/* What stands in the list of certificates, and in the payload of a command, which ends at an empty line. */
static void check_certs(struct certs *certs)
{
	/* HAProxy has none, so all that are wanted are dirty. */
	struct cert *cert = certs_first_dirty(certs);
	for (; cert != NULL; cert = TAILQ_NEXT(cert, dirty)) {
		struct buf text;
		struct str hosts = str_from(cert->hosts);
		buf_init(&text, PEM_LEN_MAX);
		while (hosts.len != 0) {
			must(hosts.p[0] == ' ');
			const char *end = strchrnul(hosts.p + 1, ' ');
			struct str host = {hosts.p + 1, (size_t)(end - hosts.p) - 1};
			must(check_host(host) || check_wildcard(host));
			hosts = str_skip(hosts, host.len + 1);
		}
		if (cert->wanted != 0 && certs_content(certs, cert, &text) == 0)
			forms_check_pem(buf_str(&text));
		buf_fini(&text);
	}
}

static void check_trust_file(void *ctx, const char *name, struct str content)
{
	struct str word = str_from(name);
	(void)ctx;
	must(str_ends_with(word, STR(".pem")));
	word.len -= strlen(".pem");
	must(name_is_one(NAME_AUTHORITY, word) || name_is_one(NAME_CLIENT, word));
	forms_check_pem(content);
}

/* ---- both ---- */

static void check(struct world *world, struct forms *forms, struct side *side, bool has_default)
{
	check_main(world, forms, has_default);
	check_groups(world, forms, &side->engine.slots);
	forms_check_rows(world, true);
	check_commands(world);
	check_certs(&side->certs);
	trust_files_show(&side->engine.trust, check_trust_file, NULL);
}

static void run(const uint8_t *data, size_t len, struct forms *forms)
{
	static struct ev_loop *loop;
	struct world world;
	struct side side = {.config = {
				    .cookie_key = (char *)(uintptr_t) "key",
				    .slots = 1,
				    .trusted_certificates = (char *)(uintptr_t) "/authorities.crt",
				    .local.state_dir = (char *)(uintptr_t)WORLD_STATE_DIR,
			    }};
	bool goes_on = true;
	world_init(&world, data, len, ROUTES_DIRECT, &policies_writer);
	loop = loop != NULL ? loop : ev_loop_new(EVFLAG_AUTO);
	side.engine =
		(struct engine){.config = &side.config, .local = world_local(&world), .loop = loop};
	arena_init(&side.engine.arena);
	slots_init(&side.engine.slots);
	side.engine.main_file = main_file_new();
	trust_files_init(&side.engine.trust, WORLD_STATE_DIR "/trust");
	certs_init(&side.certs, world.state, world.notices, "/nowhere");
	side.engine.pools = pools_new(&side.engine);
	pools_provide(&side.engine);
	if (forms->is_learning) {
		world_fill_plain(&world);
		goes_on = false;
		world_commit(&world, on_change, &side);
		check(&world, forms, &side, true);
	}
	while (goes_on) {
		goes_on = world_draw(&world);
		world_commit(&world, on_change, &side);
	}
	check(&world, forms, &side, false);
	check_classes(&world, forms);
	pools_free(side.engine.pools);
	trust_files_fini(&side.engine.trust);
	slots_fini(&side.engine.slots);
	main_file_free(side.engine.main_file);
	arena_fini(&side.engine.arena);
	certs_fini(&side.certs);
	world_fini(&world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct forms forms;
	if (forms.tree == NULL) {
		forms.is_learning = true;
		run(NULL, 0, &forms);
		forms.is_learning = false;
	}
	run(data, len, &forms);
	return 0;
}
