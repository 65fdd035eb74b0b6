// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/access_log.h"

#include "common/ascii.h"
#include "common/xalloc.h"
#include "provider-proxy/checks.h"

#include <stdlib.h>
#include <string.h>

static const char syslog[] = "syslog:";

enum { SYSLOG_PORT = 514, PATH_LEN_MAX = 100 };

/* What both proxies can be told without quotes. */
static bool is_path(struct str path)
{
	return path.len > 1 && path.len <= PATH_LEN_MAX && path.p[0] == '/' &&
	       ascii_is_made_of(path, "/._-");
}

static char *written(const struct check_ip *ip, int64_t port)
{
	return xasprintf(ip->family == AF_INET6 ? "[%s]:%d" : "%s:%d", ip->text, (int)port);
}

/* `IP`, `IP:PORT`, `[IP]:PORT`; NULL: it is none. */
static char *read_address(struct str text)
{
	struct check_ip ip;
	int64_t port = SYSLOG_PORT;
	const char *colon = text.len != 0 ? memrchr(text.p, ':', text.len) : NULL;
	if (check_ip(text, &ip))
		return written(&ip, port);
	if (colon == NULL ||
		!str_to_int(str_skip(text, (size_t)(colon - text.p) + 1), 1, 65535, &port))
		return NULL;
	text.len = (size_t)(colon - text.p);
	if (text.len > 2 && text.p[0] == '[' && text.p[text.len - 1] == ']')
		text = (struct str){text.p + 1, text.len - 2};
	else if (str_find(text, ':') != NULL)
		return NULL;
	return check_ip(text, &ip) ? written(&ip, port) : NULL;
}

static char *read_server(const char *to)
{
	struct str text = str_from(to + strlen(syslog));
	return is_path(text) ? str_dup(text) : read_address(text);
}

static bool is_server(const char *to)
{
	return strncmp(to, syslog, strlen(syslog)) == 0;
}

char *access_log_problem(const char *to)
{
	if (strcmp(to, "stdout") == 0 || (to[0] == '/' && to[1] != 0))
		return NULL;
	if (!is_server(to))
		return xstrdup("--access-log-to is \"stdout\", the absolute path of a file, or "
			       "\"syslog:\" and an address");
	char *server = read_server(to);
	char *problem =
		server == NULL
			? xstrdup("--access-log-to: after \"syslog:\" stands IP, IP:PORT or "
				  "[IP]:PORT, or the absolute path of a socket, of at most 100 "
				  "letters, digits and /._-")
			: NULL;
	free(server);
	return problem;
}

char *access_log_server(int form, const char *to)
{
	return form != ACCESS_LOG_OFF && is_server(to) ? read_server(to) : NULL;
}

const char *access_log_file(int form, const char *to)
{
	return form != ACCESS_LOG_OFF && to[0] == '/' ? to : NULL;
}

const char *access_log_exemplar(int trace_context)
{
	return trace_context != TRACE_CONTEXT_OFF ? "trace_id" : "request_id";
}
