// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/network_text.h"

#include "common/xalloc.h"
#include "provider-proxy/checks.h"

#include <stdlib.h>
#include <string.h>

struct range {
	uint8_t first[16];
	uint8_t last[16];
};

static int by_first(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct range));
}

static size_t collect(
	const struct str *networks, size_t count, int family, struct range *ret_ranges)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		struct check_cidr cidr;
		struct range *range = &ret_ranges[found];
		if (!check_cidr(networks[i], &cidr) || cidr.ip.family != family)
			continue;
		memcpy(range->first, cidr.ip.bytes, 16);
		memcpy(range->last, cidr.ip.bytes, 16);
		for (unsigned bit = cidr.bits; bit < 128; bit++)
			range->last[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
		found++;
	}
	return found;
}

/* Networks contain each other or do not touch, so the first of a place is the largest. */
static size_t drop_contained(struct range *ranges, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (kept != 0 && memcmp(ranges[i].last, ranges[kept - 1].last, 16) <= 0)
			continue;
		/* The same beginning sorts the smaller one first. */
		if (kept != 0 && memcmp(ranges[i].first, ranges[kept - 1].first, 16) == 0)
			kept--;
		ranges[kept++] = ranges[i];
	}
	return kept;
}

static void add_hex(struct tree_text *tree, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char text[32];
	for (size_t i = 0; i < len; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	tree_add(tree, (struct str){text, 2 * len});
}

static void add_family(struct tree_text *tree, const char *word, const struct str *networks,
	size_t count, int family, struct range *ranges)
{
	size_t len = family == AF_INET ? 4 : 16;
	size_t found = collect(networks, count, family, ranges);
	if (found == 0)
		return;
	qsort(ranges, found, sizeof(*ranges), by_first);
	found = drop_contained(ranges, found);
	tree_open(tree, word);
	for (size_t i = 0; i < found; i++) {
		add_hex(tree, ranges[i].first, len);
		add_hex(tree, ranges[i].last, len);
	}
	tree_close(tree);
}

void network_text_add(
	struct tree_text *tree, const char *word, const struct str *networks, size_t count)
{
	if (count == 0)
		return;
	struct range *ranges = xcalloc(count, sizeof(*ranges));
	tree_open(tree, word);
	add_family(tree, "v4", networks, count, AF_INET, ranges);
	add_family(tree, "v6", networks, count, AF_INET6, ranges);
	tree_close(tree);
	free(ranges);
}
