// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/tree_text.h"

#include "common/ascii.h"

#include <string.h>

static void put(struct tree_text *tree, const char *bytes, size_t len)
{
	if (!tree->is_full && buf_append(tree->out, bytes, len) != 0)
		tree->is_full = true;
}

static void separate(struct tree_text *tree)
{
	if (tree->needs_comma)
		put(tree, ",", 1);
	tree->needs_comma = true;
}

void tree_open(struct tree_text *tree, const char *word)
{
	separate(tree);
	put(tree, "(", 1);
	tree->needs_comma = word != NULL;
	if (word != NULL)
		put(tree, word, strlen(word));
}

void tree_close(struct tree_text *tree)
{
	put(tree, ")", 1);
	tree->needs_comma = true;
}

static bool is_plain(char c)
{
	return ascii_is_alnum(c) || (c != 0 && strchr("-._~/:=*", c) != NULL);
}

void tree_add(struct tree_text *tree, struct str text)
{
	static const char digits[] = "0123456789ABCDEF";
	separate(tree);
	for (size_t i = 0, from = 0; i <= text.len; i++) {
		if (i < text.len && is_plain(text.p[i]))
			continue;
		put(tree, text.p + from, i - from);
		from = i + 1;
		if (i == text.len)
			break;
		uint8_t c = (uint8_t)text.p[i];
		put(tree, (const char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
	}
}

void tree_add_number(struct tree_text *tree, uint64_t number)
{
	separate(tree);
	if (!tree->is_full && buf_append_uint(tree->out, number) != 0)
		tree->is_full = true;
}

void tree_add_pair(struct tree_text *tree, const char *word, struct str text)
{
	tree_open(tree, word);
	tree_add(tree, text);
	tree_close(tree);
}

void tree_add_number_pair(struct tree_text *tree, const char *word, uint64_t number)
{
	tree_open(tree, word);
	tree_add_number(tree, number);
	tree_close(tree);
}

void tree_add_flag(struct tree_text *tree, const char *word)
{
	tree_open(tree, word);
	tree_close(tree);
}
