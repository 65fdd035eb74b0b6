// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_streams.h"

#include "translator/dialects/values.h"

enum { RESPONSES_USUAL = 1, RESPONSES_MAX = 1000 * 1000 };
static const char idle_usual[] = "600s";

const char *nginx_streams_check(enum nginx_own own, struct str text)
{
	uint64_t ms = 0;
	int64_t number = 0;
	if (own == NGINX_OWN_proxy_stream_timeout)
		return value_duration(text, &ms);
	if (own != NGINX_OWN_proxy_stream_responses)
		return NULL;
	(void)nginx_value_read_number(text, &number);
	return number >= 0 && number <= RESPONSES_MAX ? NULL
						      : "a number from 0 to 1000000 is expected";
}

uint64_t nginx_streams_idle_s(const struct nginx_options *options)
{
	uint64_t ms = 0;
	(void)value_duration(
		nginx_option_text(options, NGINX_OWN_proxy_stream_timeout, idle_usual), &ms);
	return (ms + 999) / 1000;
}

uint64_t nginx_streams_responses(const struct nginx_options *options)
{
	return (uint64_t)nginx_option_number(
		options, NGINX_OWN_proxy_stream_responses, RESPONSES_USUAL);
}
