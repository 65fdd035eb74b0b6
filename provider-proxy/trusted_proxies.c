// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/trusted_proxies.h"

#include "common/ascii.h"
#include "common/xalloc.h"

#include <string.h>

static bool is_header(const char *name)
{
	size_t len =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-");
	return len != 0 && len <= CLIENT_HEADER_LEN_MAX && name[len] == '\0';
}

char *trusted_proxies_problem(const struct option_list *proxies, const char *header)
{
	struct check_cidr network;
	if (!is_header(header))
		return xasprintf("--client-address-header \"%.100s\": the name of a header is "
				 "expected, of at most %d letters, digits and -",
			header, CLIENT_HEADER_LEN_MAX);
	if (proxies->count > TRUSTED_PROXIES_MAX)
		return xasprintf("--trusted-proxies: at most %d networks", TRUSTED_PROXIES_MAX);
	for (size_t i = 0; i < proxies->count; i++) {
		if (!check_cidr(str_from(proxies->items[i]), &network))
			return xasprintf("--trusted-proxies %.100s: an address or a network is "
					 "expected, such as 10.0.0.0/8",
				proxies->items[i]);
		if (network.bits == 0)
			return xasprintf("--trusted-proxies %.100s: whoever connects would be "
					 "believed; name the networks of the proxies in front",
				proxies->items[i]);
	}
	return NULL;
}

bool trusted_proxies_get(
	const struct option_list *proxies, size_t index, struct check_cidr *ret_network)
{
	return index < proxies->count && check_cidr(str_from(proxies->items[index]), ret_network);
}

/* ---- of load balancers ---- */

void trusted_proxies_read(const struct forwarding *forwarding, bool reads_proxy,
	struct arena *arena, struct port_forwarding *ret_forwarding)
{
	static const struct forwarding none = {0};
	const struct forwarding *f = forwarding != NULL ? forwarding : &none;
	struct port_forwarding read = {.reads_proxy = reads_proxy,
		.believes_scheme = f->believes_scheme,
		.believes_port = f->believes_port,
		.believes_host = f->believes_host,
		.https_port = (uint16_t)f->https_port,
		.appends = f->appends,
		.makes_request_ids = f->request_id};
	char header[CLIENT_HEADER_LEN_MAX + 1] = "X-Forwarded-For";
	if (f->client_header.len != 0 && f->client_header.len < sizeof(header)) {
		memcpy(header, f->client_header.p, f->client_header.len);
		header[f->client_header.len] = '\0';
	}
	read.trusted = arena_calloc(arena, f->trusted.count + 1, sizeof(*read.trusted));
	/* A header that cannot be had is nobody's; so is a network. */
	bool is_usable = is_header(header) && f->client_header.len < sizeof(header);
	for (size_t i = 0; i < f->trusted.count && i < TRUSTED_NETWORKS_MAX && is_usable; i++) {
		if (check_cidr(f->trusted.items[i], &read.trusted[read.trusted_count]))
			read.trusted_count++;
	}
	if (is_usable)
		memcpy(read.client_header, header, sizeof(header));
	read.keeps_claims = f->keeps_claims && is_usable;
	*ret_forwarding = read;
}

static bool are_given(const struct trusted_options *options)
{
	return options->networks != NULL && options->networks->count != 0;
}

bool trusted_proxies_next_front(const struct trusted_options *options,
	const struct port_forwarding *forwarding, size_t index, struct check_cidr *ret_network)
{
	if (are_given(options))
		return trusted_proxies_get(options->networks, index, ret_network);
	if (index >= forwarding->trusted_count)
		return false;
	*ret_network = forwarding->trusted[index];
	return true;
}

bool trusted_proxies_next(const struct trusted_options *options,
	const struct port_forwarding *forwarding, size_t index, struct check_cidr *ret_network)
{
	return (are_given(options) || !forwarding->reads_proxy) &&
	       trusted_proxies_next_front(options, forwarding, index, ret_network);
}

struct str trusted_proxies_header(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	return are_given(options) ? options->header : str_from(forwarding->client_header);
}

bool trusted_proxies_name_one(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	static const struct str list = STR("X-Forwarded-For");
	struct check_cidr first;
	const struct str header = trusted_proxies_header(options, forwarding);
	return trusted_proxies_next(options, forwarding, 0, &first) &&
	       !ascii_eq_nocase(header, list);
}

static bool has_fronts(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	return are_given(options) || forwarding->trusted_count != 0;
}

bool trusted_proxies_believe_scheme(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	return forwarding->believes_scheme && has_fronts(options, forwarding);
}

bool trusted_proxies_believe_port(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	return forwarding->believes_port && forwarding->reads_proxy &&
	       has_fronts(options, forwarding);
}

bool trusted_proxies_believe_host(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	return forwarding->believes_host && has_fronts(options, forwarding);
}

bool trusted_proxies_append(
	const struct trusted_options *options, const struct port_forwarding *forwarding)
{
	return forwarding->appends && has_fronts(options, forwarding);
}
