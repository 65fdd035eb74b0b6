// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/conf_text.h"

#include "provider-nginx/quote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void conf_text_add(struct conf_text *text, const char *format, ...)
{
	char line[4096];
	va_list arguments;
	va_start(arguments, format);
	int len = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (text->err != 0)
		return;
	if (len < 0 || (size_t)len >= sizeof(line))
		text->err = -EMSGSIZE;
	else
		text->err = buf_append(text->out, line, (size_t)len);
}

void conf_text_quote(struct conf_text *text, struct str word)
{
	if (text->err == 0)
		text->err = quote_append(text->out, word);
}

static void add_path(struct conf_text *text, struct str dir, const char *name)
{
	char path[1024];
	int len = snprintf(path, sizeof(path), "%.*s/%s", STR_FMT(dir), name);
	if (len < 0 || (size_t)len >= sizeof(path))
		text->err = -EMSGSIZE;
	else
		conf_text_quote(text, (struct str){path, (size_t)len});
}

void conf_text_path(struct conf_text *text, const char *name)
{
	add_path(text, text->conf->options->state_dir, name);
}

void conf_text_proxy_path(struct conf_text *text, const char *name)
{
	add_path(text, text->conf->options->proxy_dir, name);
}

static bool is_split(const struct conf *conf, uint16_t port)
{
	for (size_t i = 0; i < conf->split_count; i++) {
		if (conf->split[i] == port)
			return true;
	}
	return false;
}

static bool has_any_v4(const struct port *port)
{
	for (size_t i = 0; i < port->bind_count; i++) {
		if (port->binds[i].family == AF_INET && socket_is_wildcard(&port->binds[i]))
			return true;
	}
	return false;
}

void conf_text_listen(struct conf_text *text, const struct port *port, const char *tail)
{
	const char *shared = is_split(text->conf, port->port) ? " reuseport" : "";
	for (size_t i = 0; i < port->bind_count; i++) {
		const struct check_ip *ip = &port->binds[i];
		bool is_v6 = ip->family == AF_INET6;
		/* Alone, the wildcard serves both families. */
		const char *only = !is_v6 || !socket_is_wildcard(ip) || has_any_v4(port)
					   ? ""
					   : " ipv6only=off";
		conf_text_add(text, CONF_LISTEN "%s%s%s:%u%s%s%s;\n", is_v6 ? "[" : "", ip->text,
			is_v6 ? "]" : "", port->port, tail, only, shared);
	}
}

bool conf_text_has_piece(const struct conf_text *text, size_t piece)
{
	return text->is_out == NULL || !text->is_out[piece];
}

bool conf_text_has_passes(const struct conf_text *text, const struct port *port)
{
	const struct conf *conf = text->conf;
	if (port->protocol != LISTENER_HTTPS)
		return false;
	for (size_t i = 0; i < conf->pass_count; i++) {
		if (strcmp(conf->passes[i].load_balancer.text, port->load_balancer.text) == 0 &&
			conf_text_has_piece(text, conf->ports->count + i))
			return true;
	}
	return false;
}
