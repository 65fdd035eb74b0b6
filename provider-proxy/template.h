// SPDX-License-Identifier: Apache-2.0
/*
 * Configuration files from templates. A `.tmpl` file looks like the file it makes and is compiled into a table by compile_template.py when the
 * program is built, with an enum of its values and one of its blocks: a `switch` over them that misses a name, or has one that the template
 * lacks, does not compile. Of Mustache's syntax there is
 *
 *   {{name}}               a value; what may stand there is decided by whether it is inside of double quotes
 *   {{#name}} … {{/name}}  a block: repeated as often as its source says, perhaps never
 *   {{! text }}            a comment
 *
 * and nothing else. A line that holds only a block's tag or a comment leaves nothing behind. Every value passes through the source's `escape`;
 * there is no way around it. Rendering keeps nothing but what `out` grows by. No I/O.
 */
#pragma once

#include "common/buf.h"

enum template_node_kind {
	TEMPLATE_TEXT,
	TEMPLATE_BARE,   /* a value outside of quotes */
	TEMPLATE_QUOTED, /* a value inside of double quotes, which are the template's */
	TEMPLATE_BLOCK,
};

struct template_node {
	enum template_node_kind kind;
	unsigned name;   /* of a value or block */
	struct str text; /* of TEMPLATE_TEXT */
	size_t end;      /* of TEMPLATE_BLOCK: the first node behind it */
};

struct template
{
	const struct template_node *nodes;
	size_t count;
};

struct template_source {
	/* The value of a name in the present turn of the blocks around it; good until the next call. */
	struct str (*value)(void *ctx, unsigned name);
	/* Begins turn `index`, from 0, of a block. False: there is none, and the block has ended. */
	bool (*turn)(void *ctx, unsigned block, size_t index);
	/* Appends a value so that it means itself and nothing more where it stands. -EINVAL: nothing can make it so. -EMSGSIZE: `out` is full. */
	int (*escape)(struct buf *out, struct str value, bool is_quoted);
};

/* Appends. What `escape` returned for the first value that it refused, or -EMSGSIZE; `out` is then as it was before. */
[[nodiscard]] int template_render(const struct template *template,
	const struct template_source *source, void *ctx, struct buf *out);

/* For `escape`: appends a value that stands outside of quotes if it is made of letters, digits and what addresses, paths and names have, [/._:-] and
 * brackets. Neither HAProxy nor nginx ends a word or an argument at one of them. -EINVAL for others, and for an empty value. */
[[nodiscard]] int template_append_bare(struct buf *out, struct str value);
