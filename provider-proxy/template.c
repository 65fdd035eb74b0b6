// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/template.h"

#include "common/ascii.h"
#include "common/must.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct rendering {
	const struct template_node *nodes;
	const struct template_source *source;
	void *ctx;
	struct buf *out;
};

static int render_nodes(const struct rendering *rendering, size_t begin, size_t end);

static int render_block(const struct rendering *rendering, size_t at)
{
	const struct template_node *node = &rendering->nodes[at];
	int err = 0;
	for (size_t i = 0; err == 0 && rendering->source->turn(rendering->ctx, node->name, i); i++)
		err = render_nodes(rendering, at + 1, node->end);
	return err;
}

static int render_value(const struct rendering *rendering, const struct template_node *node)
{
	struct str value = rendering->source->value(rendering->ctx, node->name);
	return rendering->source->escape(rendering->out, value, node->kind == TEMPLATE_QUOTED);
}

/* Recursion is as deep as blocks are nested in the template. */
static int render_nodes(const struct rendering *rendering, size_t begin, size_t end)
{
	int err = 0;
	for (size_t i = begin; err == 0 && i < end;) {
		const struct template_node *node = &rendering->nodes[i];
		if (node->kind == TEMPLATE_BLOCK)
			err = render_block(rendering, i);
		else if (node->kind == TEMPLATE_TEXT)
			err = buf_append(rendering->out, node->text.p, node->text.len);
		else
			err = render_value(rendering, node);
		i = node->kind == TEMPLATE_BLOCK ? node->end : i + 1;
	}
	return err;
}

int template_render(const struct template *template, const struct template_source *source,
	void *ctx, struct buf *out)
{
	const struct rendering rendering = {template->nodes, source, ctx, out};
	size_t len = buf_len(out);
	int err = render_nodes(&rendering, 0, template->count);
	if (err != 0)
		buf_cut(out, len);
	return err;
}

int template_append_bare(struct buf *out, struct str value)
{
	if (!ascii_is_made_of(value, "/._-:[]"))
		return -EINVAL;
	return value.len != 0 ? buf_append_str(out, value) : -EINVAL;
}

struct str template_printf(struct template_text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text->text, sizeof(text->text), format, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof(text->text));
	return (struct str){text->text, (size_t)len};
}

struct str template_address(struct template_text *text, const struct check_ip *ip)
{
	return ip->family == AF_INET6 ? template_printf(text, "[%s]", ip->text)
				      : str_from(ip->text);
}
