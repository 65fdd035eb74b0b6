// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/xml.h"

#include "common/buf.h"
#include "common/xalloc.h"

#include <expat.h>

/* A double, which is what others make of a number, holds every whole one up to here. */
static const int64_t NUMBER_MAX = INT64_C(1) << 53;

struct reader {
	XML_Parser parser;
	struct arena *arena;
	struct buf text; /* of the innermost open element, as long as it has no child */
	struct xml root; /* stands around the document's element */
	struct xml *open[XML_DEPTH_MAX + 1];
	struct xml *last[XML_DEPTH_MAX + 1]; /* the last child of each */
	size_t depth;
	size_t elements;
	const char *problem;
};

static void stop(struct reader *reader, const char *problem)
{
	if (reader->problem == NULL)
		reader->problem = problem;
	XML_StopParser(reader->parser, XML_FALSE);
}

/* Without "prefix:". */
static struct str local_name(const char *name)
{
	const char *colon = strrchr(name, ':');
	return str_from(colon != NULL ? colon + 1 : name);
}

static void on_start(void *ctx, const char *name, const char **attributes)
{
	struct reader *reader = ctx;
	if (reader->problem != NULL)
		return;
	if (reader->depth == XML_DEPTH_MAX) {
		stop(reader, "its elements nest too deep");
		return;
	}
	if (reader->elements++ == XML_ELEMENTS_MAX) {
		stop(reader, "it has too many elements");
		return;
	}
	struct xml *xml = arena_alloc(reader->arena, sizeof(*xml));
	xml->name = arena_str(reader->arena, local_name(name));
	xml->text = STR("");
	if (reader->last[reader->depth] == NULL)
		reader->open[reader->depth]->first = xml;
	else
		reader->last[reader->depth]->next = xml;
	reader->last[reader->depth] = xml;
	reader->depth++;
	reader->open[reader->depth] = xml;
	reader->last[reader->depth] = NULL;
	buf_clear(&reader->text);
}

static void on_end(void *ctx, const char *name)
{
	struct reader *reader = ctx;
	if (reader->problem != NULL)
		return;
	struct xml *xml = reader->open[reader->depth--];
	struct str text = str_trim(buf_str(&reader->text));
	if (xml->first == NULL && text.len != 0)
		xml->text = arena_str(reader->arena, text);
	buf_clear(&reader->text);
}

static void on_text(void *ctx, const char *text, int len)
{
	struct reader *reader = ctx;
	struct str piece = {text, (size_t)len};
	/* What stands between elements is not wanted. */
	if (reader->problem != NULL || reader->open[reader->depth]->first != NULL)
		return;
	if (buf_append_str(&reader->text, piece) != 0)
		stop(reader, "a text in it is too long");
}

static void on_doctype(
	void *ctx, const char *name, const char *system_id, const char *public_id, int has_subset)
{
	stop(ctx, "it has a document type declaration");
}

static void read_text(struct reader *reader, struct str text)
{
	XML_SetUserData(reader->parser, reader);
	XML_SetElementHandler(reader->parser, on_start, on_end);
	XML_SetCharacterDataHandler(reader->parser, on_text);
	XML_SetStartDoctypeDeclHandler(reader->parser, on_doctype);
	if (XML_Parse(reader->parser, text.p, (int)text.len, XML_TRUE) != XML_STATUS_OK &&
		reader->problem == NULL) {
		if (XML_GetErrorCode(reader->parser) == XML_ERROR_NO_MEMORY)
			xalloc_fail();
		reader->problem = "it is no XML";
	}
}

const struct xml *xml_parse(struct str text, struct arena *arena, const char **ret_problem)
{
	if (text.len > XML_LEN_MAX || text.len == 0) {
		*ret_problem = text.len == 0 ? "it is empty" : "it is too long";
		return NULL;
	}
	struct reader reader = {.arena = arena};
	reader.parser = XML_ParserCreate(NULL);
	if (reader.parser == NULL)
		xalloc_fail();
	reader.open[0] = &reader.root;
	/* In another encoding a text may become longer. */
	buf_init(&reader.text, XML_LEN_MAX);
	read_text(&reader, text);
	XML_ParserFree(reader.parser);
	buf_wipe_fini(&reader.text);
	if (reader.problem != NULL) {
		xml_wipe(reader.root.first);
		*ret_problem = reader.problem;
		return NULL;
	}
	return reader.root.first;
}

void xml_wipe(const struct xml *xml)
{
	for (; xml != NULL; xml = xml->next) {
		/* Texts are copies in the arena, but for the empty ones. */
		if (xml->text.len != 0)
			explicit_bzero((void *)(uintptr_t)xml->text.p, xml->text.len);
		xml_wipe(xml->first);
	}
}

static const struct xml *find_named(const struct xml *xml, struct str name)
{
	while (xml != NULL && !str_eq(xml->name, name))
		xml = xml->next;
	return xml;
}

const struct xml *xml_child(const struct xml *xml, const char *name)
{
	return xml != NULL ? find_named(xml->first, str_from(name)) : NULL;
}

const struct xml *xml_next(const struct xml *xml)
{
	return find_named(xml->next, xml->name);
}

const struct xml *xml_find(const struct xml *xml, const char *path)
{
	struct str rest = str_from(path);
	while (xml != NULL && rest.len != 0) {
		const char *slash = str_find(rest, '/');
		struct str name = rest;
		if (slash != NULL)
			name.len = (size_t)(slash - rest.p);
		xml = find_named(xml->first, name);
		rest = str_skip(rest, slash != NULL ? name.len + 1 : name.len);
	}
	return xml;
}

struct str xml_text(const struct xml *xml, const char *path)
{
	const struct xml *found = xml_find(xml, path);
	return found != NULL ? found->text : STR_NONE;
}

int64_t xml_number(const struct xml *xml, const char *path)
{
	int64_t number = -1;
	return str_to_int(xml_text(xml, path), 0, NUMBER_MAX, &number) ? number : -1;
}
