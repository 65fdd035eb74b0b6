// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the tables of PROTOCOL.md from the schemas, each after a line `<!-- table: NAME -->`.
 * proto/protocol_tables.py inserts them into the page and checks that they are up to date. Built
 * for that alone; not installed.
 */
#include "proto/message.h"

#include <inttypes.h>
#include <stdio.h>

static void print_words(const char *const *words)
{
	const char *separator = "";
	for (int i = 0; words[i] != NULL; i++) {
		if (words[i][0] == '\0')
			continue;
		printf("%s`%s`", separator, words[i]);
		separator = ", ";
	}
}

static void print_type(const struct schema_field *field)
{
	switch (field->type) {
	case SCHEMA_STR:
		printf("text, %" PRIu64 " bytes", field->limit);
		return;
	case SCHEMA_BIN:
		printf("binary, %" PRIu64 " bytes", field->limit);
		return;
	case SCHEMA_BOOL:
		printf("true or false");
		return;
	case SCHEMA_UINT:
		if (field->limit == UINT64_MAX)
			printf("number");
		else
			printf("number up to %" PRIu64, field->limit);
		return;
	case SCHEMA_REV:
		printf("number of 64 bits");
		return;
	case SCHEMA_ENUM:
		printf("one of ");
		print_words(field->words);
		return;
	case SCHEMA_STRUCT:
	case SCHEMA_POINTER:
		printf("map: %s", field->sub->name);
		return;
	case SCHEMA_LIST:
		printf("list of %s", field->sub->name);
		return;
	case SCHEMA_LIST_STR:
		printf("list of text");
		return;
	case SCHEMA_LIST_ENUM:
		printf("list of ");
		print_words(field->words);
		return;
	case SCHEMA_INLINE:
		return;
	}
}

static void print_rows(const struct schema *schema)
{
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		if (field->type == SCHEMA_INLINE) {
			print_rows(field->sub);
			continue;
		}
		printf("| `%s`%s | ", field->key, field->required ? " (required)" : "");
		print_type(field);
		printf(" | %s |\n", field->help);
	}
}

/* Nested schemas are printed after the first one that uses them. */
static const struct schema *printed[128];
static size_t printed_count;

static void print_schema(const struct schema *schema)
{
	for (size_t i = 0; i < printed_count; i++) {
		if (printed[i] == schema)
			return;
	}
	printed[printed_count++] = schema;
	printf("| key of %s | type and limit | meaning |\n| --- | --- | --- |\n", schema->name);
	print_rows(schema);
	printf("\n");
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		if (field->sub != NULL && field->type != SCHEMA_INLINE)
			print_schema(field->sub);
	}
}

static void print_table(const char *title, const struct schema *schema)
{
	printf("<!-- table: %s -->\n", title);
	print_schema(schema);
}

int main(void)
{
	for (int type = MESSAGE_UNKNOWN + 1; type < MESSAGE_TYPE_COUNT; type++) {
		if (type == MESSAGE_UPSERT) {
			for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++)
				print_table(record_kind_word((enum record_kind)kind),
					message_schema(
						MESSAGE_UPSERT, (enum record_kind)kind, LB_NONE));
			for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++)
				print_table(lb_kind_word((enum lb_kind)kind),
					message_schema(
						MESSAGE_UPSERT, RECORD_NONE, (enum lb_kind)kind));
			continue;
		}
		print_table(message_word((enum message_type)type),
			message_schema((enum message_type)type, RECORD_NONE, LB_NONE));
	}
	return 0;
}
