// SPDX-License-Identifier: Apache-2.0
/*
 * Configuration files from templates. A `.tmpl` file looks like the file it produces. When the program is built, compile_template.py compiles it
 * into a table, with an enum of its values and one of its blocks: a `switch` over them that misses a name, or has one that the template lacks,
 * does not compile. The syntax is the following part of Mustache's,
 *
 *   {{name}}               a value; what is allowed depends on whether it is inside double quotes
 *   {{#name}} … {{/name}}  a block: repeated as often as its source says, perhaps never
 *   {{! text }}            a comment
 *   {{> file.tmpl}}        on a line of its own: the lines of that file, which is beside this one
 *
 * and nothing else. A line that holds only a block's tag or a comment leaves nothing behind. Every value passes through the source's `escape`;
 * there is no way around it. Rendering keeps nothing but what `out` grows by. No I/O.
 */
#pragma once

#include "common/buf.h"
#include "provider-proxy/checks.h"

enum template_node_kind {
	TEMPLATE_TEXT,
	TEMPLATE_BARE,   /* a value outside quotes */
	TEMPLATE_QUOTED, /* a value inside double quotes, which are in the template */
	TEMPLATE_BLOCK,
};

struct template_node {
	enum template_node_kind kind;
	unsigned name;   /* of a value or block */
	struct str text; /* of TEMPLATE_TEXT */
	size_t end;      /* of TEMPLATE_BLOCK: the first node after it */
};

struct template
{
	const struct template_node *nodes;
	size_t count;
};

struct template_source {
	/* The value of a name in the current iteration of the enclosing blocks; valid until the next call. */
	struct str (*value)(void *ctx, unsigned name);
	/* Begins iteration `index`, from 0, of a block. False: there is none, and the block has ended. */
	bool (*turn)(void *ctx, unsigned block, size_t index);
	/* Appends a value so that it is taken literally where it stands. -EINVAL: that is impossible. -EMSGSIZE: `out` is full. */
	int (*escape)(struct buf *out, struct str value, bool is_quoted);
};

/* Appends. On failure, what `escape` returned for the first value that it refused, or -EMSGSIZE; `out` is then as it was before. */
[[nodiscard]] int template_render(const struct template *template,
	const struct template_source *source, void *ctx, struct buf *out);

/* For `value`: texts that stand nowhere else, as long as the next one is not asked for. */
struct template_text {
	char text[64];
};
[[gnu::format(printf, 2, 3)]] struct str template_printf(
	struct template_text *text, const char *format, ...);
/* An IPv6 address in brackets. */
struct str template_address(struct template_text *text, const struct check_ip *ip);

/* For `escape`: appends a value outside quotes if it consists of letters, digits and the other bytes of addresses, paths and names: [/._:-] and
 * brackets. None of them ends a word or an argument in HAProxy or nginx. -EINVAL for others, and for an empty value. */
[[nodiscard]] int template_append_bare(struct buf *out, struct str value);
