// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_parts.h"

#include <ctype.h>
#include <string.h>

enum { VALUE_LEN_MAX = 16384 }; /* of what is made of pieces; no header is longer */

struct str pieces_arguments(const struct request_parts *parts)
{
	return parts->has_query ? arena_printf(parts->arena, "?%.*s", STR_FMT(parts->query))
				: STR_NONE;
}

struct str pieces_target(const struct request_parts *parts)
{
	struct str arguments = pieces_arguments(parts);
	return arena_printf(parts->arena, "%.*s%.*s", STR_FMT(parts->path), STR_FMT(arguments));
}

/* Value of the header, the cookie or the argument that a piece names. */
static struct str named(const struct request_parts *parts, const struct piece *piece)
{
	struct str value = STR_NONE;
	bool is_found = piece->value == REQUEST_HEADER ? request_header(parts, piece->text, &value)
			: piece->value == REQUEST_COOKIE
				? request_cookie(parts, piece->text, &value)
				: request_argument(parts, piece->text, &value);
	return is_found ? value : STR_NONE;
}

static const char hex_digits[] = "0123456789ABCDEF";

/* Which bytes stay as they are. */
typedef bool keeps_fn(unsigned char byte);

static struct str encode(struct str value, keeps_fn *keeps, struct arena *arena)
{
	char *to = arena_alloc(arena, value.len * 3 + 1);
	size_t len = 0;
	for (size_t i = 0; i < value.len; i++) {
		unsigned char byte = (unsigned char)value.p[i];
		if (keeps(byte)) {
			to[len++] = value.p[i];
			continue;
		}
		to[len++] = '%';
		to[len++] = hex_digits[byte >> 4];
		to[len++] = hex_digits[byte & 15];
	}
	return (struct str){to, len};
}

/* RFC 3986, 2.3. */
static bool is_unreserved(unsigned char byte)
{
	return isalnum(byte) || (byte != 0 && strchr("-._~", byte) != NULL);
}

static struct str raw_value(const struct request_parts *parts, const struct piece *piece)
{
	struct str value = STR_NONE;
	switch (piece->value) {
	case REQUEST_TEXT:
		return piece->text;
	case REQUEST_GROUP:
		return piece->group < REGEX_GROUPS_MAX ? parts->groups[piece->group] : STR_NONE;
	case REQUEST_SCHEME:
		return parts->is_https ? STR("https") : STR("http");
	case REQUEST_HOST:
		return parts->host;
	case REQUEST_HOST_HEADER:
		return parts->host_header;
	case REQUEST_PORT:
		return arena_printf(parts->arena, "%llu", (unsigned long long)parts->port);
	case REQUEST_METHOD:
		return parts->request->method;
	case REQUEST_PATH:
		return parts->path;
	case REQUEST_PATH_REST:
		return parts->rest;
	case REQUEST_QUERY:
		return parts->query;
	case REQUEST_ARGUMENTS:
		return pieces_arguments(parts);
	case REQUEST_TARGET:
		return pieces_target(parts);
	case REQUEST_CLIENT:
		return parts->client;
	case REQUEST_HEADER:
	case REQUEST_COOKIE:
	case REQUEST_ARGUMENT:
		return named(parts, piece);
	case REQUEST_TARGET_ESCAPED:
		return encode(pieces_target(parts), is_unreserved, parts->arena);
	case REQUEST_ID:
		return request_header(parts, STR("x-request-id"), &value) ? value : STR_NONE;
	case REQUEST_SERVICE:
		return parts->service;
	case REQUEST_SERVICE_PORT:
		return parts->service_port;
	case REQUEST_STATUS:
		return parts->status;
	case REQUEST_TARGET_UNSLASHED:
		value = pieces_target(parts);
		value.len -= str_ends_with(value, STR("/"));
		return value;
	}
	return STR_NONE;
}

static bool has_control(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
			return true;
	}
	return false;
}

/* What a text of pieces gets from one of them; there are `room` bytes left, which it takes from. */
static struct str clean_value(
	const struct request_parts *parts, const struct piece *piece, size_t *room)
{
	struct str value = raw_value(parts, piece);
	if (has_control(value) || value.len > *room)
		return STR_NONE;
	*room -= value.len;
	return value;
}

static struct str join(struct arena *arena, const struct str *values, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += values[i].len;
	char *to = arena_alloc(arena, len + 1);
	len = 0;
	for (size_t i = 0; i < count; i++) {
		str_put(to + len, values[i]);
		len += values[i].len;
	}
	return (struct str){to, len};
}

struct str pieces_value(const struct request_parts *parts, struct piece_list pieces)
{
	size_t room = VALUE_LEN_MAX;
	struct str *values = arena_calloc(parts->arena, pieces.count + 1, sizeof(*values));
	for (size_t i = 0; i < pieces.count; i++)
		values[i] = clean_value(parts, &pieces.items[i], &room);
	return join(parts->arena, values, pieces.count);
}

/* RFC 3986, 3.3. */
static bool is_of_path(unsigned char byte)
{
	return is_unreserved(byte) || (byte != 0 && strchr("!$&'()*+,;=:@/", byte) != NULL);
}

/* Also what is encoded already. */
static bool is_of_encoded_path(unsigned char byte)
{
	return is_of_path(byte) || byte == '%';
}

struct str pieces_path(const struct request_parts *parts, struct piece_list pieces)
{
	size_t room = VALUE_LEN_MAX;
	struct str *values = arena_calloc(parts->arena, pieces.count + 1, sizeof(*values));
	for (size_t i = 0; i < pieces.count; i++) {
		const struct piece *piece = &pieces.items[i];
		bool is_decoded = parts->is_decoded && (piece->value == REQUEST_GROUP ||
							       piece->value == REQUEST_PATH_REST);
		values[i] = encode(clean_value(parts, piece, &room),
			is_decoded ? is_of_path : is_of_encoded_path, parts->arena);
	}
	struct str path = join(parts->arena, values, pieces.count);
	return str_starts_with(path, STR("/")) ? path
					       : arena_printf(parts->arena, "/%.*s", STR_FMT(path));
}

static bool is_of_encoded_query(unsigned char byte)
{
	return is_of_encoded_path(byte) || (byte != 0 && strchr("?[]", byte) != NULL);
}

struct str pieces_as_target(const struct request_parts *parts, struct piece_list pieces)
{
	struct str text = pieces_value(parts, pieces);
	struct str path = str_before(text, '?');
	struct str query = str_skip(text, path.len);
	path = encode(path, is_of_encoded_path, parts->arena);
	query = encode(query, is_of_encoded_query, parts->arena);
	return arena_printf(parts->arena, "%s%.*s%.*s", str_starts_with(path, STR("/")) ? "" : "/",
		STR_FMT(path), STR_FMT(query));
}
