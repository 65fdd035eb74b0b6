// SPDX-License-Identifier: Apache-2.0
/* Requests to the admin server: whatever comes, and in whatever pieces, the verdict is the same and nothing grows beyond its limit. */
#include "common/must.h"
#include "common/admin_http.h"

#include <stdlib.h>

/* Feeds `step` bytes at a time, each time as a copy of exactly its size; returns how many were used. */
static size_t feed(
	struct admin_head *head, struct str text, size_t step, enum admin_head_outcome *ret_outcome)
{
	size_t used = 0;
	admin_head_init(head);
	*ret_outcome = ADMIN_HEAD_PARTIAL;
	while (used < text.len && *ret_outcome == ADMIN_HEAD_PARTIAL) {
		size_t len = text.len - used < step ? text.len - used : step;
		size_t taken = 0;
		char *exact = malloc(len);
		must(exact != NULL);
		memcpy(exact, text.p + used, len);
		*ret_outcome = admin_head_feed(head, (struct str){exact, len}, &taken);
		must(taken <= len && (*ret_outcome != ADMIN_HEAD_PARTIAL || taken == len));
		free(exact);
		used += taken;
	}
	must(used <= ADMIN_HEAD_LEN_MAX);
	return used;
}

static void look_at(const struct admin_head *head)
{
	struct admin_request request;
	char value[64];
	admin_head_request(head, &request);
	must(request.path.len + request.query.len <= ADMIN_TARGET_LEN_MAX);
	must(request.accept.len <= ADMIN_ACCEPT_LEN_MAX);
	must(request.host.len <= ADMIN_HOST_LEN_MAX && request.site.len <= ADMIN_SITE_LEN_MAX);
	if (admin_query(request.query, "a", value, sizeof(value)))
		must(strlen(value) < sizeof(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct admin_head whole;
	struct admin_head pieces;
	enum admin_head_outcome outcome;
	enum admin_head_outcome other;
	struct str text = {(const char *)data, len};
	size_t used = feed(&whole, text, SIZE_MAX, &outcome);
	size_t same = feed(&pieces, text, 1, &other);
	must(outcome == other);
	must(outcome == ADMIN_HEAD_BAD || used == same);
	if (outcome != ADMIN_HEAD_READY)
		return 0;
	must(whole.target_len == pieces.target_len && whole.accept_len == pieces.accept_len);
	must(whole.host_len == pieces.host_len && whole.site_len == pieces.site_len);
	must(whole.keeps_alive == pieces.keeps_alive);
	look_at(&whole);
	return 0;
}
