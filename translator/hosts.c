// SPDX-License-Identifier: Apache-2.0
#include "translator/hosts.h"

#include "common/ascii.h"

enum { HOST_LEN_MAX = 253, LABEL_LEN_MAX = 63 };

static const char *check_char(char c)
{
	if (ascii_is_alnum(c) || c == '-')
		return NULL;
	if (c == '*')
		return "a wildcard is \"*.\" before a name, and nothing else";
	if (c == ':')
		return "a port or an IPv6 address is no part of a host name";
	if ((unsigned char)c >= 0x80)
		return "international names must be written in their xn-- form";
	return "only letters, digits, '-' and '.' may stand in a host name";
}

static const char *check_label(struct str label)
{
	if (label.len == 0)
		return "an empty label: there is a dot too many";
	if (label.len > LABEL_LEN_MAX)
		return "a label is longer than 63 characters";
	for (size_t i = 0; i < label.len; i++) {
		const char *problem = check_char(label.p[i]);
		if (problem != NULL)
			return problem;
	}
	if (label.p[0] == '-' || label.p[label.len - 1] == '-')
		return "a label begins or ends with '-'";
	return NULL;
}

static bool is_number(struct str label)
{
	for (size_t i = 0; i < label.len; i++) {
		if (!ascii_is_digit(label.p[i]))
			return false;
	}
	return label.len != 0;
}

static const char *check_labels(struct str name)
{
	struct str label;
	struct str rest = name;
	for (;;) {
		const char *dot = str_find(rest, '.');
		label = (struct str){rest.p, dot != NULL ? (size_t)(dot - rest.p) : rest.len};
		const char *problem = check_label(label);
		if (problem != NULL)
			return problem;
		if (dot == NULL)
			break;
		rest = str_skip(rest, label.len + 1);
	}
	/* Top-level domains are never numeric (RFC 3696, section 2), which tells names from addresses. */
	return is_number(label)
		       ? "its last label is a number, as in an IP address, which is no host name"
		       : NULL;
}

const char *host_check(struct str host, enum host_match *ret_match)
{
	enum host_match match = HOST_EXACT;
	if (host.len == 0) {
		*ret_match = HOST_ANY;
		return NULL;
	}
	if (str_eq_c(host, "*"))
		return "to mean any host, leave the host out";
	if (host.len > HOST_LEN_MAX)
		return "longer than 253 characters";
	struct str name = host;
	if (str_starts_with(host, STR("*."))) {
		match = HOST_WILDCARD;
		name = str_skip(host, 2);
	}
	if (name.len == 0)
		return "a wildcard needs a name behind it";
	const char *problem = check_labels(name);
	if (problem == NULL)
		*ret_match = match;
	return problem;
}

struct str host_lower(struct arena *arena, struct str host)
{
	char *copy = NULL;
	for (size_t i = 0; i < host.len; i++) {
		if (host.p[i] < 'A' || host.p[i] > 'Z')
			continue;
		if (copy == NULL) {
			copy = arena_alloc(arena, host.len + 1);
			str_put(copy, host);
		}
		copy[i] = (char)(host.p[i] - 'A' + 'a');
	}
	return copy != NULL ? (struct str){copy, host.len} : host;
}
