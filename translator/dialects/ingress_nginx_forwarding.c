// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_forwarding.h"

#include "common/ascii.h"

enum {
	HEADER_LEN_MAX = 64,
	HTTPS_PORT = 443, /* whatever the port is on which the controller listens */
};

/* Of IPv4 alone, as the original has it by itself. */
static struct str everybody[] = {STR("0.0.0.0/0")};

bool nginx_forwarding_reads_proxy(const struct nginx_options *options)
{
	return nginx_option_is_on(options, NGINX_OWN_use_proxy_protocol, false);
}

static bool believes_somebody(const struct nginx_options *options)
{
	return nginx_option_is_on(options, NGINX_OWN_use_forwarded_headers, false) ||
	       nginx_option_is_on(options, NGINX_OWN_enable_real_ip, false) ||
	       nginx_forwarding_reads_proxy(options);
}

struct forwarding nginx_forwarding_of(const struct nginx_options *options)
{
	struct forwarding forwarding = {
		.client_header = nginx_option_text(options, NGINX_OWN_forwarded_for_header, ""),
		.keeps_claims = true,
		.https_port = HTTPS_PORT,
		.request_id = nginx_option_is_on(options, NGINX_OWN_generate_request_id, true)};
	/* A list that cannot be read is not everybody. */
	if (!believes_somebody(options) || options->trusts_nobody)
		return forwarding;
	forwarding.trusted =
		options->trusted.count != 0 ? options->trusted : (struct str_list){everybody, 1};
	forwarding.believes_scheme =
		nginx_option_is_on(options, NGINX_OWN_use_forwarded_headers, false);
	forwarding.believes_port = nginx_forwarding_reads_proxy(options);
	forwarding.believes_host = forwarding.believes_scheme;
	forwarding.appends =
		forwarding.believes_scheme &&
		nginx_option_is_on(options, NGINX_OWN_compute_full_forwarded_for, false);
	return forwarding;
}

const char *nginx_forwarding_check_header(struct str name)
{
	bool is_good = name.len != 0 && name.len <= HEADER_LEN_MAX;
	for (size_t i = 0; i < name.len && is_good; i++) {
		char c = name.p[i];
		is_good = ascii_is_alnum(c) || c == '-';
	}
	return is_good ? NULL
		       : "the name of a header is expected, of at most 64 letters, digits and -";
}

bool nginx_forwarding_trusts_all(const struct nginx_options *options)
{
	const struct forwarding forwarding = nginx_forwarding_of(options);
	for (size_t i = 0; i < forwarding.trusted.count; i++) {
		if (str_ends_with(forwarding.trusted.items[i], STR("/0")))
			return true;
	}
	return false;
}
