// SPDX-License-Identifier: Apache-2.0
/*
 * Anything in every field of what provider-nginx is sent: nginx.conf has no directive but those that a harmless state brings forth too, nowhere
 * a text of a tenant but a checked host name as a quoted key of a map; rows are pairs of key and value whatever is in them, and the
 * value of a pool has only lines of ours.
 */
#include "render_world.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-proxy/policy_checks.h"
#include "provider-nginx/feed_order.h"
#include "provider-nginx/pool_text.h"
#include "provider-nginx/rule_text.h"
#include "provider-nginx/wanted.h"

#include <stdlib.h>

enum { WORDS_MAX = 32, DEPTH_MAX = 4, FORM_LEN_MAX = 64 * 1024, PIECES_MAX = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---- nginx's grammar: ngx_conf_read_token() ---- */

struct lexer {
	struct str rest;
	char *room; /* for words, all of which together are no longer than the text */
	struct str blocks[DEPTH_MAX];
	size_t depth;
};

struct directive {
	struct str words[WORDS_MAX]; /* without their quotes and backslashes */
	bool is_quoted[WORDS_MAX];
	size_t count;
	char end; /* ; { or } */
};

static char peek(const struct lexer *lexer)
{
	must(lexer->rest.len != 0);
	return lexer->rest.p[0];
}

static char take(struct lexer *lexer)
{
	char c = peek(lexer);
	lexer->rest = str_skip(lexer->rest, 1);
	return c;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char take_escaped(struct lexer *lexer)
{
	static const char known[] = "\"'\\ rn", meant[] = "\"'\\ \r\n";
	char c = take(lexer);
	const char *found = strchr(known, c);
	/* The others are kept with their backslash, which we have no use for. */
	must(found != NULL && c != 0);
	return meant[found - known];
}

/* Takes the first of these that the text begins with; false: none of them is. */
static bool take_one(struct str *text, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (!str_starts_with(*text, str_from(*words)))
			continue;
		*text = str_skip(*text, strlen(*words));
		return true;
	}
	return false;
}

/* Without the numbers behind an underscore, which are those of listeners. */
static struct str without_labels(struct str word, char *room)
{
	size_t len = 0;
	for (size_t i = 0; i < word.len; i++) {
		size_t digits = word.p[i] == '_' ? 1 : 0;
		while (digits != 0 && i + digits < word.len && word.p[i + digits] >= '0' &&
			word.p[i + digits] <= '9')
			digits++;
		if (digits > 1)
			i += digits - 1;
		else
			room[len++] = word.p[i];
	}
	return (struct str){room, len};
}

static const char *const hosts[] = {"$http_host", "$sluice_told_host", NULL};
static const char *const schemes[] = {"https", "http", "$sluice_told_scheme", NULL};

static bool take_text(struct str *word, const char *text)
{
	const char *const texts[] = {text, NULL};
	return take_one(word, texts);
}

static bool take_port(struct str *word)
{
	size_t digits = 0;
	while (digits < word->len && word->p[digits] >= '0' && word->p[digits] <= '9')
		digits++;
	*word = str_skip(*word, digits);
	return digits != 0 || take_text(word, "$sluice_said_port");
}

static bool take_forwarded(struct str *word)
{
	static const char *const clients[] = {"for=$remote_addr", "for=\"[$remote_addr]\"",
		"for=$sluice_for_begin$remote_addr$sluice_for_end", NULL};
	return take_one(word, clients) && take_text(word, ";host=\"") && take_one(word, hosts) &&
	       take_text(word, "\";proto=") && take_one(word, schemes);
}

/* The lines of the one header that requests get. */
static bool are_headers(struct str word)
{
	static const char *const clients[] = {"$remote_addr", "$sluice_told_for", NULL};
	bool begins = take_one(&word, hosts) && take_text(&word, "\r\nX-Forwarded-For: ") &&
		      take_one(&word, clients) && take_text(&word, "\r\nX-Forwarded-Proto: ") &&
		      take_one(&word, schemes) && take_text(&word, "\r\nX-Forwarded-Host: ") &&
		      take_one(&word, hosts) && take_text(&word, "\r\nX-Forwarded-Port: ") &&
		      take_port(&word);
	if (!begins)
		return false;
	take_text(&word, "\r\nX-Request-ID: $sluice_made_id");
	return take_text(&word, "\r\nX-Real-IP: $remote_addr\r\nForwarded: ") &&
	       take_forwarded(&word) && word.len == 0;
}

/* What proxies in front have told. */
static bool is_told(struct str word)
{
	static const char *const values[] = {":$sluice_front$http_x_forwarded_proto",
		"$sluice_proxy_port:$sluice_front$http_x_forwarded_proto",
		"$sluice_proxy_port:", "$sluice_proxy_port", "$sluice_front$http_x_forwarded_port",
		"$http_x_forwarded_for, $realip_remote_addr", "$http_x_forwarded_for, $remote_addr",
		NULL};
	return take_one(&word, values) && word.len == 0;
}

/* Within quotes nothing may be a variable, but in the values that have to be quoted: for their semicolons, or because they may be empty. */
static bool is_ours(struct str word)
{
	char room[512];
	if (word.len > sizeof(room))
		return false;
	word = without_labels(word, room);
	return are_headers(word) || is_told(word);
}

static void read_word(struct lexer *lexer, struct directive *directive)
{
	char *word = lexer->room;
	char first = peek(lexer);
	bool is_quoted = first == '"' || first == '\'';
	bool has_variable = false, has_line_end = false;
	size_t len = 0;
	must(directive->count < WORDS_MAX);
	if (is_quoted)
		take(lexer);
	while (is_quoted ? peek(lexer) != first
			 : !is_space(peek(lexer)) && peek(lexer) != ';' && peek(lexer) != '{') {
		char c = take(lexer);
		must(c >= ' ' && c < 0x7f);
		has_variable |= is_quoted && c == '$';
		word[len] = c == '\\' ? take_escaped(lexer) : c;
		has_line_end |= word[len] < ' ';
		len++;
	}
	if (is_quoted) {
		take(lexer);
		must(is_space(peek(lexer)) || peek(lexer) == ';' || peek(lexer) == '{');
	}
	must(!(has_variable || has_line_end) || is_ours((struct str){word, len}));
	lexer->room += len;
	directive->words[directive->count] = (struct str){word, len};
	directive->is_quoted[directive->count] = is_quoted;
	directive->count++;
}

static void skip_space(struct lexer *lexer)
{
	while (lexer->rest.len != 0 && (is_space(peek(lexer)) || peek(lexer) == '#')) {
		bool is_comment = take(lexer) == '#';
		while (is_comment && take(lexer) != '\n')
			;
	}
}

/* Up to `;`, `{` or `}`; false at the end of the file. */
static bool read_directive(struct lexer *lexer, struct directive *directive)
{
	directive->count = 0;
	skip_space(lexer);
	if (lexer->rest.len == 0)
		return false;
	for (;; skip_space(lexer)) {
		char c = peek(lexer);
		directive->end = c;
		if (c == ';' || c == '{' || c == '}')
			break;
		read_word(lexer, directive);
	}
	take(lexer);
	must((directive->end == '}') == (directive->count == 0));
	return true;
}

/* Lua stands between braces, and ours has none of its own: braces in it could only be a tenant's. */
static struct str read_lua(struct lexer *lexer)
{
	const char *end = memchr(lexer->rest.p, '}', lexer->rest.len);
	must(end != NULL);
	struct str lua = {lexer->rest.p, (size_t)(end - lexer->rest.p)};
	must(memchr(lua.p, '{', lua.len) == NULL && memchr(lua.p, '\n', lua.len) == NULL);
	lexer->rest = str_skip(lexer->rest, lua.len + 1);
	return lua;
}

/* ---- the form of a directive ---- */

/* A host, or the pattern for names of one more label. */
static bool is_host(const struct world *world, struct str key)
{
	static const struct str head = {"~*^[^.]+\\.", 10};
	char host[CHECK_HOST_LEN_MAX + 3] = "*.";
	size_t len = 2;
	if (check_host(key))
		return world_has_text(world, key);
	if (!str_starts_with(key, head) || !str_ends_with(key, STR("\\z")))
		return false;
	key = str_skip(key, head.len);
	for (size_t i = 0; i < key.len - 2; i++) {
		must(len < sizeof(host));
		must(key.p[i] != '.');
		i += key.p[i] == '\\';
		host[len++] = key.p[i];
	}
	struct str name = {host, len};
	return check_wildcard(name) && world_has_text(world, name);
}

static struct str word_of(const struct world *world, const struct lexer *lexer,
	const struct directive *directive, size_t i)
{
	struct str word = directive->words[i];
	bool is_in_map = lexer->depth != 0 && str_eq_c(lexer->blocks[lexer->depth - 1], "map");
	if (i == 0 && is_in_map && directive->is_quoted[0] && is_host(world, word))
		return STR("<host>");
	if (i == 2 && str_eq_c(directive->words[1], "$sluice_generation"))
		return STR("<digest>");
	return word;
}

/* ("NAME"), as often as there are CAs and terms. */
static size_t trust_at(struct str text)
{
	struct str name = str_skip(text, 2);
	if (!str_starts_with(text, STR("(\"")))
		return 0;
	const char *end = str_find(name, '"');
	must(end != NULL);
	name.len = (size_t)(end - name.p);
	must(name_is_one(NAME_AUTHORITY, name) || name_is_one(NAME_TERMS, name) ||
		str_eq_c(name, POOL_TEXT_SYSTEM) || str_starts_with(name, STR("_")));
	must(str_starts_with(str_skip(text, name.len + 2), STR("\")")));
	return name.len + 4;
}

static void add_lua(struct buf *form, struct str lua)
{
	static const char mark[] = ")(\"";
	const char *at = lua.len != 0 ? memmem(lua.p, lua.len, mark, sizeof(mark) - 1) : NULL;
	size_t len = at != NULL ? (size_t)(at - lua.p) + 1 : lua.len;
	struct str rest = str_skip(lua, len);
	forms_word(form, (struct str){lua.p, len});
	while ((len = trust_at(rest)) != 0)
		rest = str_skip(rest, len);
	forms_word(form, rest);
}

static void check_directive(struct world *world, struct forms *forms, struct lexer *lexer,
	const struct directive *directive)
{
	struct buf form;
	buf_init(&form, FORM_LEN_MAX);
	for (size_t i = 0; i < lexer->depth; i++)
		forms_word(&form, lexer->blocks[i]);
	for (size_t i = 0; i < directive->count; i++)
		forms_word(&form, word_of(world, lexer, directive, i));
	must(buf_append(&form, &directive->end, 1) == 0);
	bool is_lua =
		directive->end == '{' && str_ends_with(directive->words[0], STR("_by_lua_block"));
	if (is_lua)
		add_lua(&form, read_lua(lexer));
	forms_check(forms, buf_str(&form));
	buf_fini(&form);
	if (directive->end == '{' && !is_lua) {
		must(lexer->depth < DEPTH_MAX);
		lexer->blocks[lexer->depth++] = directive->words[0];
	}
}

static void check_conf(struct world *world, struct forms *forms, struct str text)
{
	char *room = xcalloc(1, text.len);
	struct lexer lexer = {.rest = text, .room = room};
	struct directive directive;
	while (read_directive(&lexer, &directive)) {
		if (directive.end == '}')
			must(lexer.depth-- != 0);
		else
			check_directive(world, forms, &lexer, &directive);
	}
	must(lexer.depth == 0);
	free(room);
}

/* ---- the value of a pool: lua/sluice/pools.lua reads it line by line, and words between spaces ---- */

static bool is_digest(struct str word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (strchr("0123456789abcdef", word.p[i]) == NULL || word.p[i] == 0)
			return false;
	}
	return word.len == 16;
}

static struct str pool_word(const struct world *world, struct str kind, size_t i, struct str word)
{
	bool is_sticky = str_eq_c(kind, "sticky");
	if (is_sticky && i == 1 && check_cookie_name(word) && world_has_text(world, word))
		return STR("<cookie>");
	if (is_sticky && i == 3 && check_host(word))
		return STR("<domain>");
	/* A dot before it: nobody is asked for it. */
	struct str name = str_skip(word, str_starts_with(word, STR(".")) ? 1 : 0);
	if (str_eq_c(kind, "tls") && i == 2 && check_server_name(name) &&
		world_has_text(world, name))
		return name.len == word.len ? STR("<host>") : STR("<unasked-host>");
	if (str_eq_c(kind, "service") && i == 1 && check_token(word))
		return STR("<service>");
	if (str_eq_c(kind, "service") && i == 3 && check_token(word))
		return STR("<namespace>");
	if (str_eq_c(kind, "check") && i == 7 && check_path(word) && world_has_text(world, word))
		return STR("<path>");
	if (str_eq_c(kind, "e") && i == 2 && is_digest(word))
		return STR("<digest>");
	struct check_ip ip;
	bool is_v6 = word.len > 2 && word.p[0] == '[' && word.p[word.len - 1] == ']';
	if (str_eq_c(kind, "e") && i == 3 &&
		check_ip(is_v6 ? (struct str){word.p + 1, word.len - 2} : word, &ip))
		return STR("<address>");
	return word;
}

static void check_pool_line(struct world *world, struct forms *forms, struct str line)
{
	struct buf form;
	struct str kind = STR_NONE;
	buf_init(&form, FORM_LEN_MAX);
	must(buf_append_str(&form, STR("pool: ")) == 0);
	for (size_t i = 0; line.len != 0; i++) {
		const char *end = memchr(line.p, ' ', line.len);
		struct str word = {line.p, end != NULL ? (size_t)(end - line.p) : line.len};
		line = str_skip(line, word.len + 1);
		kind = i == 0 ? word : kind;
		forms_word(&form, pool_word(world, kind, i, word));
	}
	forms_check(forms, buf_str(&form));
	buf_fini(&form);
}

static void check_pool(struct world *world, struct forms *forms, struct str text)
{
	while (text.len != 0) {
		const char *end = memchr(text.p, '\n', text.len);
		must(end != NULL);
		struct str line = {text.p, (size_t)(end - text.p)};
		for (size_t i = 0; i < line.len; i++)
			must(line.p[i] >= ' ' && line.p[i] < 0x7f);
		check_pool_line(world, forms, line);
		text = str_skip(text, line.len + 1);
	}
}

/* Also what the protocol would not let pass. */
static void check_pools(struct world *world, struct forms *forms)
{
	for (size_t i = 0; i < world->pool_count; i++) {
		struct str problem = STR_NONE;
		struct buf text;
		buf_init(&text, POOL_TEXT_LEN_MAX);
		struct trust trust = {0};
		if (world->pools[i].tls != NULL && trust_of(world->pools[i].tls, &trust) != NULL)
			world->pools[i].tls = NULL;
		struct str protocol = pool_text_protocol(&world->pools[i], &trust, &world->arena);
		pool_text_append(&world->pools[i], protocol, &world->arena, &text, &problem);
		check_pool(world, forms, buf_str(&text));
		buf_fini(&text);
	}
}

/* ---- rows ---- */

/* `client:`, a pool and a content. */
static bool is_client_key(struct str key)
{
	static const char head[] = "client:";
	size_t pool_at = sizeof(head) - 1;
	size_t content_at = pool_at + NAME_LEN + 1;
	return key.len == content_at + NAME_LEN && str_starts_with(key, str_from(head)) &&
	       name_is_one(NAME_POOL, (struct str){key.p + pool_at, NAME_LEN}) &&
	       key.p[content_at - 1] == ':' && name_is_one(NAME_CLIENT, str_skip(key, content_at));
}

static void check_object_row(
	struct world *world, struct forms *forms, struct str key, struct str value)
{
	struct buf form;
	const char *colon = key.len != 0 ? memchr(key.p, ':', key.len) : NULL;
	struct str rest = colon != NULL ? str_skip(key, (size_t)(colon - key.p) + 1) : STR("");
	bool is_host = str_starts_with(key, STR("sni:")) &&
		       (check_host(rest) || check_wildcard(rest)) &&
		       name_is_one(NAME_CERTIFICATE, value);
	bool is_certificate =
		str_starts_with(key, STR("cert:")) && name_is_one(NAME_CERTIFICATE, rest);
	if (is_host || is_certificate || is_client_key(key))
		return;
	buf_init(&form, FORM_LEN_MAX);
	must(buf_append_str(&form, STR("row: ")) == 0);
	forms_word(&form, key);
	forms_check(forms, buf_str(&form));
	buf_fini(&form);
	if (str_starts_with(key, STR("pool:")))
		check_pool(world, forms, value);
	else
		for (size_t i = 0; i < value.len; i++)
			must(value.p[i] >= ' ' && value.p[i] < 0x7f);
}

/* All that is wanted, as nginx gets it: read back, the rows are the ones that were put in. */
static void check_rows(struct world *world, struct forms *forms, struct objects *objects)
{
	struct buf batch;
	struct buf scratch;
	struct str rows;
	struct batch_row row;
	struct batch_head head = {.serial = 1};
	struct row *position = NULL;
	unsigned stage = 0;
	size_t len = 0;
	buf_init(&batch, BATCH_LEN_MAX);
	buf_init(&scratch, BATCH_LEN_MAX);
	struct feed_order order = {world->rows, objects, world->state, &scratch};
	batch_begin(&batch);
	(void)feed_order_fill_whole(&order, &batch, &position, &stage);
	batch_end(&batch, &head);
	must(batch_read(buf_str(&batch), &head, &rows, &len) == 0 && len == buf_len(&batch));
	while (batch_next(&rows, &row)) {
		struct str key = str_skip(row.key, 1);
		char digest[PAIR_DIGEST_LEN];
		bool is_object = row.key.p[0] == FEED_OBJECT;
		enum row_table table = row.key.p[0] == FEED_PREFIX ? ROW_PREFIX : ROW_WHOLE;
		struct str wanted =
			rows_wanted(is_object ? objects_rows(objects) : world->rows, table, key);
		must(str_eq(objects_row_value(key, row.value, digest), wanted));
		if (is_object)
			check_object_row(world, forms, key, row.value);
	}
	buf_fini(&batch);
	buf_fini(&scratch);
}

/* ---- the provider ---- */

struct side {
	struct objects *objects;
	struct wanted *wanted;
};

static void on_change(void *ctx, struct state *state, const struct state_commit *commit)
{
	struct side *side = ctx;
	objects_on_commit(side->objects, state, commit);
	(void)wanted_is_changed(side->wanted, commit);
}

static void check_trusts(struct objects *objects)
{
	static const struct name system = {POOL_TEXT_SYSTEM};
	const struct trust_view *view = NULL;
	while ((view = trusts_next(objects_trusts(objects), view)) != NULL) {
		struct terms terms;
		if (strcmp(view->name.text, system.text) == 0)
			continue;
		if (name_is_one(NAME_TERMS, name_str(&view->name))) {
			must(terms_read(view->terms, &terms) && view->content.p == NULL);
			continue;
		}
		must(name_is_one(NAME_AUTHORITY, name_str(&view->name)));
		forms_check_pem(view->content);
	}
}

/* The rows say what pools with TLS speak only once nginx runs with what they trust. */
static void check(struct world *world, struct forms *forms, struct side *side)
{
	struct buf text;
	uint64_t generation;
	bool is_out[PIECES_MAX];
	buf_init(&text, CONF_LEN_MAX);
	const struct conf *conf = wanted_collect(side->wanted, NULL);
	must(conf_piece_count(conf) <= PIECES_MAX);
	must(conf_render(conf, NULL, &text, &generation) == 0);
	check_conf(world, forms, buf_str(&text));
	check_rows(world, forms, side->objects);
	(void)objects_set_live(side->objects, world->state, buf_str(&text));
	must(!objects_are_waiting(side->objects));
	buf_clear(&text);
	for (size_t i = 0; i < conf_piece_count(conf); i++)
		is_out[i] = world_pick(world, 2) != 0;
	must(conf_render(conf, is_out, &text, &generation) == 0);
	check_conf(world, forms, buf_str(&text));
	buf_fini(&text);
	forms_check_rows(world, false);
	check_rows(world, forms, side->objects);
	check_trusts(side->objects);
}

static void run(const uint8_t *data, size_t len, struct forms *forms)
{
	static const struct conf_options options = {
		.state_dir = {WORLD_STATE_DIR, sizeof(WORLD_STATE_DIR) - 1},
		.proxy_dir = {WORLD_PROXY_DIR, sizeof(WORLD_PROXY_DIR) - 1},
		.lua_dir = {"/lua", 4},
		.modules_dir = {"/modules", 8},
		.system_ca = {"/authorities.crt", 16},
		.open_files = 1024,
		.dictionary_mb = 64,
		.control = 'a',
		.shutdown_s = 60,
	};
	struct world world;
	struct side side;
	bool goes_on = !forms->is_learning;
	world_init(&world, data, len, ROUTES_BY_HOST, &rule_text_writer);
	side.objects = objects_new(world.notices, NULL, true);
	side.wanted = wanted_new(&(struct wanted_parts){
		.state = world.state,
		.rows = world.rows,
		.routes = world.routes,
		.notices = world.notices,
		.objects = side.objects,
		.options = &options,
	});
	if (forms->is_learning) {
		world_fill_plain(&world);
		world_commit(&world, on_change, &side);
	}
	while (goes_on) {
		goes_on = world_draw(&world);
		world_commit(&world, on_change, &side);
	}
	check(&world, forms, &side);
	check_pools(&world, forms);
	wanted_free(side.wanted);
	objects_free(side.objects);
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
