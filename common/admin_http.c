// SPDX-License-Identifier: Apache-2.0
#include "common/admin_http.h"

#include "common/ascii.h"
#include "common/must.h"

#include <stdio.h>

/* ---- requests ---- */

static int refuse(struct admin_head *head, int status, const char *problem)
{
	head->status = status;
	head->problem = problem;
	return -1;
}

static int on_url(http_parser *parser, const char *text, size_t len)
{
	struct admin_head *head = parser->data;
	if (len > sizeof(head->target) - head->target_len)
		return refuse(head, 414, "the path and query are too long");
	memcpy(head->target + head->target_len, text, len);
	head->target_len += len;
	return 0;
}

static int on_header_field(http_parser *parser, const char *text, size_t len)
{
	struct admin_head *head = parser->data;
	if (head->is_in_value) {
		head->is_in_value = false;
		head->field_len = 0;
	}
	/* A field name that does not fit is longer than any that we look for. */
	size_t room = sizeof(head->field) - head->field_len;
	size_t taken = len < room ? len : room;
	memcpy(head->field + head->field_len, text, taken);
	head->field_len += taken;
	return 0;
}

static void add_accept(struct admin_head *head, const char *text, size_t len)
{
	size_t room = sizeof(head->accept) - head->accept_len;
	size_t taken = len < room ? len : room;
	memcpy(head->accept + head->accept_len, text, taken);
	head->accept_len += taken;
}

/* Who is meant, and who asks, is taken whole or not at all: guards go by them. */
static int add_host(struct admin_head *head, bool is_first, const char *text, size_t len)
{
	if (is_first && head->has_host)
		return refuse(head, 400, "there is more than one Host header");
	if (len > sizeof(head->host) - head->host_len)
		return refuse(head, 400, "the Host header is too long");
	head->has_host = true;
	memcpy(head->host + head->host_len, text, len);
	head->host_len += len;
	return 0;
}

static int add_site(struct admin_head *head, bool is_first, const char *text, size_t len)
{
	if ((is_first && head->site_len != 0) || len > sizeof(head->site) - head->site_len)
		return refuse(head, 400, "the Sec-Fetch-Site header is malformed");
	memcpy(head->site + head->site_len, text, len);
	head->site_len += len;
	return 0;
}

static bool is_field(const struct admin_head *head, struct str name)
{
	return ascii_eq_nocase((struct str){head->field, head->field_len}, name);
}

static int on_header_value(http_parser *parser, const char *text, size_t len)
{
	struct admin_head *head = parser->data;
	bool is_first = !head->is_in_value;
	head->is_in_value = true;
	if (is_field(head, STR("host")))
		return add_host(head, is_first, text, len);
	if (is_field(head, STR("sec-fetch-site")))
		return add_site(head, is_first, text, len);
	if (!is_field(head, STR("accept")))
		return 0;
	if (is_first && head->accept_len != 0)
		add_accept(head, ",", 1);
	add_accept(head, text, len);
	return 0;
}

static int on_headers_complete(http_parser *parser)
{
	struct admin_head *head = parser->data;
	if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
		return refuse(head, 405, "only GET and HEAD are answered");
	if (parser->uses_transfer_encoding ||
		(parser->content_length != 0 && parser->content_length != UINT64_MAX))
		return refuse(head, 413, "a request may not have a body");
	/* No other protocol is supported. */
	parser->upgrade = 0;
	return 0;
}

static int on_message_complete(http_parser *parser)
{
	struct admin_head *head = parser->data;
	head->is_complete = true;
	head->keeps_alive = http_should_keep_alive(parser) != 0;
	/* What follows belongs to the next request. */
	http_parser_pause(parser, 1);
	return 0;
}

void admin_head_init(struct admin_head *head)
{
	head->len = head->target_len = head->accept_len = head->field_len = 0;
	head->host_len = head->site_len = 0;
	head->is_in_value = head->is_complete = head->keeps_alive = head->has_host = false;
	head->status = 0;
	head->problem = NULL;
	http_parser_init(&head->parser, HTTP_REQUEST);
	head->parser.data = head;
}

enum admin_head_outcome admin_head_feed(struct admin_head *head, struct str data, size_t *ret_used)
{
	static const http_parser_settings settings = {
		.on_url = on_url,
		.on_header_field = on_header_field,
		.on_header_value = on_header_value,
		.on_headers_complete = on_headers_complete,
		.on_message_complete = on_message_complete,
	};
	size_t room = ADMIN_HEAD_LEN_MAX - head->len;
	size_t len = data.len < room ? data.len : room;
	*ret_used = http_parser_execute(&head->parser, &settings, data.p, len);
	head->len += *ret_used;
	if (head->is_complete)
		return ADMIN_HEAD_READY;
	if (head->status == 0 && HTTP_PARSER_ERRNO(&head->parser) != HPE_OK)
		refuse(head, 400, http_errno_description(HTTP_PARSER_ERRNO(&head->parser)));
	if (head->status == 0 && head->len >= ADMIN_HEAD_LEN_MAX)
		refuse(head, 431, "the request line and headers are too long");
	return head->status != 0 ? ADMIN_HEAD_BAD : ADMIN_HEAD_PARTIAL;
}

void admin_head_request(const struct admin_head *head, struct admin_request *ret_request)
{
	struct http_parser_url url;
	*ret_request = (struct admin_request){
		.path = STR(""),
		.rest = STR(""),
		.query = STR(""),
		.accept = {head->accept, head->accept_len},
		.host = {head->host, head->host_len},
		.site = {head->site, head->site_len},
	};
	http_parser_url_init(&url);
	if (http_parser_parse_url(head->target, head->target_len, 0, &url) != 0)
		return;
	if ((url.field_set & 1 << UF_PATH) != 0)
		ret_request->path = (struct str){
			head->target + url.field_data[UF_PATH].off, url.field_data[UF_PATH].len};
	if ((url.field_set & 1 << UF_QUERY) != 0)
		ret_request->query = (struct str){
			head->target + url.field_data[UF_QUERY].off, url.field_data[UF_QUERY].len};
}

bool admin_head_is_head(const struct admin_head *head)
{
	return head->parser.method == HTTP_HEAD;
}

bool admin_head_is_http_1_0(const struct admin_head *head)
{
	return head->parser.http_major < 1 ||
	       (head->parser.http_major == 1 && head->parser.http_minor == 0);
}

/* ---- responses ---- */

int admin_print_head(struct buf *out, const struct admin_answer_head *head)
{
	char text[512];
	char date[64];
	char length[64] = "";
	struct tm tm;
	gmtime_r(&head->now, &tm);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (head->length >= 0)
		snprintf(length, sizeof(length), "Content-Length: %lld\r\n",
			(long long)head->length);
	else if (head->length == ADMIN_LENGTH_CHUNKED)
		snprintf(length, sizeof(length), "Transfer-Encoding: chunked\r\n");
	int len = snprintf(text, sizeof(text),
		"HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\n%s"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s",
		head->status, http_status_str((enum http_status)head->status), date,
		head->content_type, length, head->status == 405 ? "Allow: GET, HEAD\r\n" : "",
		head->closes ? "Connection: close\r\n" : "");
	must(len > 0 && (size_t)len < sizeof(text));
	int err = buf_append(out, text, (size_t)len);
	if (err == 0 && head->more != NULL)
		err = buf_append_str(out, str_from(head->more));
	return err == 0 ? buf_append(out, "\r\n", 2) : err;
}

static int hex_of(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the first byte of `text`; returns how many bytes it takes; 0: malformed. */
static size_t decode_byte(struct str text, char *ret_byte)
{
	*ret_byte = text.p[0] == '+' ? ' ' : text.p[0];
	if (text.p[0] != '%')
		return 1;
	int high = text.len >= 3 ? hex_of(text.p[1]) : -1;
	int low = text.len >= 3 ? hex_of(text.p[2]) : -1;
	if (high < 0 || low < 0)
		return 0;
	*ret_byte = (char)(high * 16 + low);
	return 3;
}

static bool decode(struct str text, char *ret_value, size_t size)
{
	size_t len = 0;
	while (text.len != 0) {
		char byte;
		size_t used = decode_byte(text, &byte);
		if (used == 0 || byte == '\0' || len + 1 >= size)
			return false;
		ret_value[len++] = byte;
		text = str_skip(text, used);
	}
	if (size == 0)
		return false;
	ret_value[len] = '\0';
	return true;
}

bool admin_query(struct str query, const char *name, char *ret_value, size_t size)
{
	must(name != NULL);
	while (query.len != 0) {
		struct str pair = str_cut(&query, '&');
		struct str key = str_before(pair, '=');
		if (pair.len != 0 && str_eq_c(key, name))
			return decode(str_skip(pair, key.len + 1), ret_value, size);
	}
	return false;
}
