// SPDX-License-Identifier: Apache-2.0
/* Inside of conf.c and conf_stream.c: the text that grows, and its first error. Nobody else includes this. */
#pragma once

#include "provider-nginx/conf.h"

struct conf_text {
	const struct conf *conf;
	const bool *is_out;
	struct buf *out;
	int err;
};

/* The format and what is formatted are ours; texts from elsewhere go through conf_text_quote(). */
[[gnu::format(printf, 2, 3)]] void conf_text_add(struct conf_text *text, const char *format, ...);
/* As one quoted word. */
void conf_text_quote(struct conf_text *text, struct str word);
/* A quoted word: state_dir/name, and likewise proxy_dir/name. */
void conf_text_path(struct conf_text *text, const char *name);
void conf_text_proxy_path(struct conf_text *text, const char *name);
/* `listen ADDRESS:PORT TAIL;` for each address. */
void conf_text_listen(struct conf_text *text, const struct port *port, const char *tail);
bool conf_text_has_piece(const struct conf_text *text, size_t piece);
/* Whether hosts of the listener are passed through unopened. */
bool conf_text_has_passes(const struct conf_text *text, const struct port *port);

/* conf_stream.c: the stream block; nothing when it would be empty. */
void conf_stream_add(struct conf_text *text);
