// SPDX-License-Identifier: Apache-2.0
#include "watcher/yamltext.h"

#include "common/xalloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <yaml.h>

struct yaml_reader {
	yaml_parser_t parser;
	struct str text;
	struct yaml_document document;
	bool is_done;
	const char *excess; /* which limit was exceeded; NULL: none */
	size_t excess_line;
	/* Totals of the documents so far: after following aliases, and as written. */
	size_t nodes;
	size_t nodes_written;
	size_t bytes;
};

struct walk {
	yaml_document_t *document;
	struct buf *out;
	size_t nodes;
	size_t nodes_max;
	size_t bytes_max;
	const char *problem;
	unsigned line; /* of the problem */
};

static void open_parser(yaml_parser_t *parser, struct str text)
{
	if (yaml_parser_initialize(parser) == 0)
		abort();
	yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(
		parser, (const unsigned char *)(text.p != NULL ? text.p : ""), text.len);
}

/* ---- limits ---- */

/* Of the current document. */
struct token_counts {
	size_t depth;
	size_t anchors;
	size_t directives;
};

_Static_assert(YAML_ANCHORS_MAX == 64 && YAML_TAG_DIRECTIVES_MAX == 16, "as the texts say");

/* NULL: within the limits. */
static const char *count_token(struct token_counts *counts, yaml_token_type_t type)
{
	switch (type) {
	case YAML_DOCUMENT_START_TOKEN:
	case YAML_DOCUMENT_END_TOKEN:
		*counts = (struct token_counts){0};
		return NULL;
	case YAML_TAG_DIRECTIVE_TOKEN:
		return ++counts->directives > YAML_TAG_DIRECTIVES_MAX ? "more than 16 %TAG lines"
								      : NULL;
	case YAML_ANCHOR_TOKEN:
		return ++counts->anchors > YAML_ANCHORS_MAX ? "more than 64 anchors in one document"
							    : NULL;
	case YAML_BLOCK_SEQUENCE_START_TOKEN:
	case YAML_BLOCK_MAPPING_START_TOKEN:
	case YAML_FLOW_SEQUENCE_START_TOKEN:
	case YAML_FLOW_MAPPING_START_TOKEN:
		/* The document itself has depth 0. */
		return ++counts->depth > YAML_DEPTH_MAX + 1 ? "nested too deeply" : NULL;
	case YAML_BLOCK_END_TOKEN:
	case YAML_FLOW_SEQUENCE_END_TOKEN:
	case YAML_FLOW_MAPPING_END_TOKEN:
		counts->depth -= counts->depth != 0;
		return NULL;
	default:
		return NULL;
	}
}

/* Counts tokens before libyaml does more than linear work. Invalid YAML is reported by libyaml itself. */
static void check_tokens(struct yaml_reader *reader, struct str text)
{
	yaml_parser_t parser;
	yaml_token_t token;
	struct token_counts counts = {0};
	bool is_more = true;
	open_parser(&parser, text);
	while (is_more && reader->excess == NULL && yaml_parser_scan(&parser, &token) != 0) {
		is_more = token.type != YAML_NO_TOKEN && token.type != YAML_STREAM_END_TOKEN;
		reader->excess = count_token(&counts, token.type);
		reader->excess_line = token.start_mark.line + 1;
		yaml_token_delete(&token);
	}
	yaml_parser_delete(&parser);
}

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* what editors of Windows begin a file with */

struct yaml_reader *yaml_reader_new(struct str text)
{
	struct yaml_reader *reader = xcalloc(1, sizeof(*reader));
	if (str_starts_with(text, STR(BYTE_ORDER_MARK)))
		text = str_skip(text, sizeof(BYTE_ORDER_MARK) - 1);
	reader->text = text;
	check_tokens(reader, text);
	open_parser(&reader->parser, text);
	buf_init(&reader->document.json, YAML_TEXT_MAX);
	return reader;
}

void yaml_reader_free(struct yaml_reader *reader)
{
	yaml_parser_delete(&reader->parser);
	buf_wipe_fini(&reader->document.json);
	free(reader->document.item_lines);
	free(reader);
}

/* ---- scalars ---- */

static bool is_one_of(struct str text, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (str_eq_c(text, *words))
			return true;
	}
	return false;
}

/* The JSON value of a plain scalar; absent: it is text. */
static struct str plain_meaning(struct str text, char room[32])
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {
		"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y", NULL};
	static const char *const falses[] = {
		"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N", NULL};
	static const int64_t limit = INT64_C(1) << 53;
	char *end = NULL;
	if (is_one_of(text, nulls))
		return STR("null");
	if (is_one_of(text, trues))
		return STR("true");
	if (is_one_of(text, falses))
		return STR("false");
	if (text.len == 0 || text.len > 20 ||
		strspn(text.p, "-+0123456789abcdefxABCDEFo_") != text.len ||
		strchr("-+0123456789", text.p[0]) == NULL)
		return STR_NONE;
	long long number = strtoll(text.p, &end, 0);
	if (*end != '\0' || number >= limit || number <= -limit)
		return STR_NONE;
	snprintf(room, 32, "%lld", number);
	return str_from(room);
}

static bool put(struct walk *walk, const char *text)
{
	if (buf_append(walk->out, text, strlen(text)) == 0)
		return true;
	walk->problem = "the document is too long";
	return false;
}

static bool put_text(struct walk *walk, struct str text)
{
	if (json_put_text(walk->out, text) == 0)
		return true;
	walk->problem = "the document is too long";
	return false;
}

static bool put_scalar(struct walk *walk, const yaml_node_t *node)
{
	char room[32];
	struct str text = {(const char *)node->data.scalar.value, node->data.scalar.length};
	bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			(node->tag == NULL || strcmp((const char *)node->tag, YAML_STR_TAG) == 0);
	struct str meaning = is_plain ? plain_meaning(text, room) : STR_NONE;
	return meaning.p != NULL ? put(walk, meaning.p) : put_text(walk, text);
}

/* ---- nodes ---- */

static bool put_node(struct walk *walk, int index, unsigned depth);

static bool fail(struct walk *walk, const yaml_node_t *node, const char *problem)
{
	walk->problem = problem;
	walk->line = (unsigned)node->start_mark.line + 1;
	return false;
}

static bool put_sequence(struct walk *walk, const yaml_node_t *node, unsigned depth)
{
	const yaml_node_item_t *item = node->data.sequence.items.start;
	bool is_good = put(walk, "[");
	for (; is_good && item < node->data.sequence.items.top; item++) {
		if (item != node->data.sequence.items.start)
			is_good = put(walk, ",");
		is_good = is_good && put_node(walk, *item, depth + 1);
	}
	return is_good && put(walk, "]");
}

static bool put_mapping(struct walk *walk, const yaml_node_t *node, unsigned depth)
{
	const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	bool is_good = put(walk, "{");
	for (; is_good && pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(walk->document, pair->key);
		if (key == NULL || key->type != YAML_SCALAR_NODE)
			return fail(walk, node, "a key must be text");
		struct str name = {(const char *)key->data.scalar.value, key->data.scalar.length};
		if (str_eq(name, STR("<<")) && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			return fail(
				walk, key, "merge keys (<<) are not read: write the fields out");
		if (pair != node->data.mapping.pairs.start)
			is_good = put(walk, ",");
		is_good = is_good && put_text(walk, name) && put(walk, ":") &&
			  put_node(walk, pair->value, depth + 1);
	}
	return is_good && put(walk, "}");
}

static bool put_node(struct walk *walk, int index, unsigned depth)
{
	const yaml_node_t *node = yaml_document_get_node(walk->document, index);
	if (node == NULL)
		return put(walk, "null");
	if (depth > YAML_DEPTH_MAX)
		return fail(walk, node, "nested too deeply, or within itself");
	if (++walk->nodes > walk->nodes_max || buf_len(walk->out) > walk->bytes_max)
		return fail(walk, node, "aliases make the document too big");
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return put_scalar(walk, node);
	case YAML_SEQUENCE_NODE:
		return put_sequence(walk, node, depth);
	case YAML_MAPPING_NODE:
		return put_mapping(walk, node, depth);
	default:
		return put(walk, "null");
	}
}

/* ---- documents ---- */

static void note_lines(struct yaml_document *document, yaml_document_t *yaml, yaml_node_t *root)
{
	document->line = (unsigned)root->start_mark.line + 1;
	document->item_count = 0;
	if (root->type != YAML_MAPPING_NODE)
		return;
	const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	for (; pair < root->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(yaml, pair->key);
		const yaml_node_t *list = yaml_document_get_node(yaml, pair->value);
		if (key == NULL || list == NULL || key->type != YAML_SCALAR_NODE ||
			list->type != YAML_SEQUENCE_NODE ||
			strcmp((const char *)key->data.scalar.value, "items") != 0)
			continue;
		const yaml_node_item_t *item = list->data.sequence.items.start;
		document->item_count = (size_t)(list->data.sequence.items.top - item);
		document->item_lines = xreallocarray(document->item_lines, document->item_count + 1,
			sizeof(*document->item_lines));
		for (size_t i = 0; i < document->item_count; i++) {
			const yaml_node_t *node = yaml_document_get_node(yaml, item[i]);
			document->item_lines[i] =
				node != NULL ? (unsigned)node->start_mark.line + 1 : 0;
		}
	}
}

static size_t less(size_t all, size_t used)
{
	return all > used ? all - used : 0;
}

/* Sets the limits of a document; what earlier ones have not used is available to it. */
static void allow(const struct yaml_reader *reader, const yaml_document_t *yaml, struct walk *walk)
{
	size_t written = reader->nodes_written + (size_t)(yaml->nodes.top - yaml->nodes.start);
	size_t text_len = reader->parser.mark.index;
	walk->nodes_max = less(YAML_NODES_FREE + YAML_NODES_FACTOR * written, reader->nodes);
	walk->bytes_max = less(YAML_BYTES_FREE + YAML_BYTES_FACTOR * text_len, reader->bytes);
}

static void charge(struct yaml_reader *reader, const yaml_document_t *yaml, const struct walk *walk)
{
	reader->nodes_written += (size_t)(yaml->nodes.top - yaml->nodes.start);
	reader->nodes += walk->nodes;
	reader->bytes += buf_len(walk->out);
}

/* ---- what is wrong ---- */

static struct str line_at(struct str text, size_t number)
{
	const char *end = NULL;
	for (; number > 1 && (end = str_find(text, '\n')) != NULL; number--)
		text = str_skip(text, (size_t)(end - text.p) + 1);
	end = str_find(text, '\n');
	return (struct str){text.p, end != NULL ? (size_t)(end - text.p) : text.len};
}

static bool has_tab_before_text(struct str line)
{
	size_t blanks = 0;
	while (blanks < line.len && line.p[blanks] == ' ')
		blanks++;
	return blanks < line.len && line.p[blanks] == '\t';
}

/* What people do wrong most, which libyaml has no words for. */
static const char *likely_cause(const struct yaml_reader *reader, size_t number)
{
	struct str line = line_at(reader->text, number);
	for (size_t i = 0; i + 1 < line.len; i++) {
		if (line.p[i] == '{' && line.p[i + 1] == '{')
			return ": a template, which has to be rendered first";
	}
	return has_tab_before_text(line) ? ": a tab, where only blanks may indent" : "";
}

static char *problem_at(const struct yaml_reader *reader, size_t line, const char *problem)
{
	return xasprintf("line %zu: %s%s", line, problem, likely_cause(reader, line));
}

bool yaml_next(
	struct yaml_reader *reader, const struct yaml_document **ret_document, char **ret_problem)
{
	yaml_document_t yaml;
	*ret_problem = NULL;
	if (reader->excess != NULL) {
		*ret_problem = xasprintf("line %zu: %s", reader->excess_line, reader->excess);
		return false;
	}
	while (!reader->is_done) {
		struct walk walk = {.document = &yaml, .out = &reader->document.json};
		buf_clear(&reader->document.json);
		if (yaml_parser_load(&reader->parser, &yaml) == 0) {
			*ret_problem = problem_at(reader, reader->parser.problem_mark.line + 1,
				reader->parser.problem != NULL ? reader->parser.problem
							       : "cannot be read");
			return false;
		}
		yaml_node_t *root = yaml_document_get_root_node(&yaml);
		allow(reader, &yaml, &walk);
		bool is_good = root == NULL || put_node(&walk, 1, 0);
		if (root != NULL)
			note_lines(&reader->document, &yaml, root);
		charge(reader, &yaml, &walk);
		yaml_document_delete(&yaml);
		if (root == NULL) {
			reader->is_done = true;
		} else if (!is_good) {
			*ret_problem = problem_at(reader, walk.line, walk.problem);
			return false;
		} else if (!str_eq(buf_str(&reader->document.json), STR("null"))) {
			*ret_document = &reader->document;
			return true;
		}
	}
	return false;
}
