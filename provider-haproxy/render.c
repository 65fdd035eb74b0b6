// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/render.h"

#include "common/ascii.h"
#include "provider-haproxy/text.h"

#include <stdlib.h>

bool render_is_path(const char *path)
{
	for (const char *c = path; *c != 0; c++) {
		bool is_plain = ascii_is_alnum(*c) || strchr("/._-", *c) != NULL;
		if (!is_plain)
			return false;
	}
	return path[0] == '/';
}

size_t render_read_group_count(struct str content)
{
	static const char mark[] = "\n\tdescription \"sluice ";
	const char *at =
		content.len != 0 ? memmem(content.p, content.len, mark, sizeof(mark) - 1) : NULL;
	int64_t count = 0;
	if (at == NULL)
		return 0;
	struct str rest = str_skip(content, (size_t)(at - content.p) + sizeof(mark) - 1 + 16 + 1);
	const char *end = str_find(rest, '"');
	rest.len = end != NULL ? (size_t)(end - rest.p) : 0;
	return str_to_int(rest, 0, SLOTS_GROUPS_MAX, &count) ? (size_t)count : 0;
}

/* ---- groups ---- */

static void add_servers(struct buf *out, struct slot *slot)
{
	struct server *server = slot_first_server(slot);
	for (; server != NULL; server = slot_next_server(server)) {
		bool is_v6 = server->ip.family == AF_INET6;
		if (!server->is_wanted || server->is_refused)
			continue;
		text_add(out, "\tserver %s %s%s%s:%u%s%s%s\n", server->name, is_v6 ? "[" : "",
			server->ip.text, is_v6 ? "]" : "", server->port,
			server->weight == SERVER_WEIGHT ? "" : " weight 0",
			slot->group->sort->server, slot->words != NULL ? slot->words : "");
	}
}

/* Slots with a mode of their own are for TCP, or were made by an earlier version. */
static bool has_mode(const struct slot_class *sort)
{
	return str_starts_with(str_from(sort->lines), STR("\tmode "));
}

void render_group(struct buf *out, const struct group *group)
{
	text_add(out, "# Written by Sluice; changes are lost.\n");
	if (group->sort == NULL) {
		text_add(out, "#-\n");
		return;
	}
	const char *line = group->sort->lines;
	while (*line != 0) {
		const char *end = strchrnul(line, '\n');
		text_add(out, "#=%.*s\n", (int)(end - line), line);
		line = *end != 0 ? end + 1 : end;
	}
	text_add(out, "#+%s\n", group->sort->server);
	for (size_t i = 0; i < group->size; i++) {
		const struct slot *slot = &group->slots[i];
		text_add(out, "\nbackend %s%s\n%s", slot->name,
			has_mode(group->sort) ? "" : " from slots", group->sort->lines);
		add_servers(out, (struct slot *)(uintptr_t)slot);
	}
}

static uint32_t count_backends(struct str content)
{
	struct str word = STR("\nbackend s");
	uint32_t count = 0;
	const char *at;
	while (count < SLOTS_PER_GROUP && content.len != 0 &&
		(at = memmem(content.p, content.len, word.p, word.len)) != NULL) {
		content = str_skip(content, (size_t)(at - content.p) + word.len);
		count++;
	}
	return count;
}

bool render_read_group(struct str content, struct slots *slots)
{
	struct buf lines;
	struct str server = STR_NONE;
	bool is_vacant = false;
	buf_init(&lines, RENDER_LEN_MAX);
	while (content.len != 0 && content.p[0] == '#') {
		const char *end = str_find(content, '\n');
		if (end == NULL)
			break;
		struct str line = {content.p, (size_t)(end - content.p)};
		content = str_skip(content, line.len + 1);
		if (str_starts_with(line, STR("#=")))
			text_add(&lines, "%.*s\n", STR_FMT(str_skip(line, 2)));
		else if (str_starts_with(line, STR("#+")))
			server = str_skip(line, 2);
		is_vacant = is_vacant || str_eq(line, STR("#-"));
	}
	if (is_vacant) {
		buf_fini(&lines);
		return slots_add_group(slots, NULL, 0) != NULL;
	}
	bool is_one = server.p != NULL && buf_len(&lines) != 0;
	if (is_one) {
		char *lines_text = str_dup(buf_str(&lines));
		char *server_text = str_dup(server);
		is_one = slots_add_group(slots, slots_find_class(slots, lines_text, server_text),
				 count_backends(content)) != NULL;
		free(lines_text);
		free(server_text);
	}
	buf_fini(&lines);
	return is_one;
}
