// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/piece_text.h"

static void add_piece(struct tree_text *tree, const struct piece *piece)
{
	static const char *const words[] = {
		[REQUEST_TEXT] = "text",
		[REQUEST_GROUP] = "group",
		[REQUEST_SCHEME] = "scheme",
		[REQUEST_HOST] = "host",
		[REQUEST_HOST_HEADER] = "host_header",
		[REQUEST_PORT] = "port",
		[REQUEST_METHOD] = "method",
		[REQUEST_PATH] = "path",
		[REQUEST_PATH_REST] = "path_rest",
		[REQUEST_QUERY] = "query",
		[REQUEST_ARGUMENTS] = "arguments",
		[REQUEST_TARGET] = "target",
		[REQUEST_CLIENT] = "client",
		[REQUEST_HEADER] = "header",
		[REQUEST_COOKIE] = "cookie",
		[REQUEST_ARGUMENT] = "argument",
		[REQUEST_TARGET_ESCAPED] = "target_escaped",
		[REQUEST_ID] = "request_id",
		[REQUEST_SERVICE] = "service",
		[REQUEST_SERVICE_PORT] = "service_port",
		[REQUEST_STATUS] = "status",
		[REQUEST_TARGET_UNSLASHED] = "target_unslashed",
	};
	tree_open(tree, words[piece->value]);
	if (piece->value == REQUEST_GROUP)
		tree_add_number(tree, piece->group);
	else if (!str_is_empty(piece->text))
		tree_add(tree, piece->text);
	tree_close(tree);
}

void piece_text_add(
	struct tree_text *tree, const char *word, const struct piece *pieces, size_t count)
{
	tree_open(tree, word);
	for (size_t i = 0; i < count; i++)
		add_piece(tree, &pieces[i]);
	tree_close(tree);
}

void piece_text_add_changes(
	struct tree_text *tree, const char *word, const struct header_change *items, size_t count)
{
	static const char *const actions[] = {
		[HEADER_SET] = "set", [HEADER_ADD] = "add", [HEADER_REMOVE] = "remove"};
	if (count == 0)
		return;
	tree_open(tree, word);
	for (size_t i = 0; i < count; i++) {
		tree_open(tree, actions[items[i].action]);
		tree_add(tree, items[i].name);
		piece_text_add(tree, NULL, items[i].value.items, items[i].value.count);
		tree_close(tree);
	}
	tree_close(tree);
}
