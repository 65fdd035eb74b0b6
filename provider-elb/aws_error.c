// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/aws_error.h"

#include <ctype.h>
#include <time.h>

enum { DATA_LEN_MIN = 48 }; /* a line of PEM has 64 */

static struct str first_of(struct str a, struct str b)
{
	return a.p != NULL ? a : b;
}

struct aws_error aws_error_read_xml(const struct xml *xml)
{
	const struct xml *error = xml_child(xml, "Error");
	if (error == NULL)
		error = xml_find(xml, "Errors/Error");
	struct str id = first_of(xml_text(xml, "RequestId"), xml_text(xml, "RequestID"));
	/* Route 53 names what it refuses in the root: <InvalidChangeBatch><Messages><Message>. */
	bool is_named = xml != NULL && error == NULL && xml_child(xml, "Messages") != NULL;
	return (struct aws_error){
		.code = is_named ? xml->name : xml_text(error, "Code"),
		.message =
			is_named ? xml_text(xml, "Messages/Message") : xml_text(error, "Message"),
		.request_id = first_of(id, first_of(xml_text(xml, "ResponseMetadata/RequestId"),
						   xml_text(xml, "requestId"))),
	};
}

/* "com.amazon.coral.service#ThrottlingException:http://..." */
static struct str short_code(struct str type)
{
	const char *hash = str_find(type, '#');
	if (hash != NULL)
		type = str_skip(type, (size_t)(hash - type.p) + 1);
	const char *colon = str_find(type, ':');
	if (colon != NULL)
		type.len = (size_t)(colon - type.p);
	return type;
}

struct aws_error aws_error_read_json(const struct json *json, const char *type)
{
	struct str code = json_text(json_get(json, "__type"));
	return (struct aws_error){
		.code = short_code(first_of(code, str_from(type))),
		.message = first_of(
			json_text(json_get(json, "message")), json_text(json_get(json, "Message"))),
	};
}

struct str aws_error_cut(struct str text)
{
	size_t len = AWS_ERROR_TEXT_LEN_MAX;
	if (text.len <= len)
		return text;
	while (len != 0 && ((unsigned char)text.p[len] & 0xc0) == 0x80)
		len--;
	return (struct str){text.p, len};
}

bool aws_error_has_data(struct str text)
{
	size_t run = 0;
	for (size_t i = 0; i < text.len && run < DATA_LEN_MIN; i++) {
		bool is_data = isalnum((unsigned char)text.p[i]) || text.p[i] == '+' ||
			       text.p[i] == '/' || text.p[i] == '=';
		run = is_data ? run + 1 : 0;
	}
	return run == DATA_LEN_MIN;
}

int64_t aws_error_skew_s(const char *date, int64_t now_s)
{
	struct tm when = {0};
	const char *end = date != NULL ? strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &when) : NULL;
	if (end == NULL || end[0] != '\0')
		return 0;
	return (int64_t)timegm(&when) - now_s;
}
