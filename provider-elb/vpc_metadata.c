// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/vpc_metadata.h"

#include "common/xalloc.h"

enum { WORD_LEN_MAX = 64 }; /* of a hardware address, and of an id */

struct vpc_metadata {
	struct metadata *metadata;
	struct metadata_query *query;
	void (*on_done)(void *ctx, const char *vpc, const char *problem);
	void *ctx;
};

static bool is_plain(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		bool is_letter = (text.p[i] >= 'a' && text.p[i] <= 'z') ||
				 (text.p[i] >= '0' && text.p[i] <= '9');
		if (!is_letter && text.p[i] != '-' && text.p[i] != ':')
			return false;
	}
	return text.len != 0 && text.len <= WORD_LEN_MAX;
}

static void on_vpc(void *ctx, struct str text, const char *problem)
{
	struct vpc_metadata *vpc = ctx;
	struct str id = str_trim(text);
	vpc->query = NULL;
	if (problem == NULL && (!is_plain(id) || !str_starts_with(id, STR("vpc-"))))
		problem = "the instance's metadata names no VPC";
	char *copy = problem == NULL ? str_dup(id) : NULL;
	vpc->on_done(vpc->ctx, copy, problem);
	free(copy);
}

/* One line for each interface, "0e:49:61:0f:c3:11/"; any will do, all are in one VPC. */
static void on_macs(void *ctx, struct str text, const char *problem)
{
	struct vpc_metadata *vpc = ctx;
	struct str mac = str_trim(text);
	const char *line_end = str_find(mac, '\n');
	vpc->query = NULL;
	if (line_end != NULL)
		mac = str_trim((struct str){mac.p, (size_t)(line_end - mac.p)});
	if (str_ends_with(mac, STR("/")))
		mac.len--;
	if (problem == NULL && !is_plain(mac))
		problem = "the instance's metadata names no interface";
	if (problem != NULL) {
		vpc->on_done(vpc->ctx, NULL, problem);
		return;
	}
	char *path = xasprintf("%s%.*s/vpc-id", METADATA_MACS, STR_FMT(mac));
	vpc->query = metadata_start(vpc->metadata, path, on_vpc, vpc);
	free(path);
}

void vpc_metadata_start(struct vpc_metadata *vpc)
{
	if (vpc->query == NULL)
		vpc->query = metadata_start(vpc->metadata, METADATA_MACS, on_macs, vpc);
}

struct vpc_metadata *vpc_metadata_new(struct metadata *metadata,
	void (*on_done)(void *ctx, const char *vpc, const char *problem), void *ctx)
{
	struct vpc_metadata *vpc = xcalloc(1, sizeof(*vpc));
	vpc->metadata = metadata;
	vpc->on_done = on_done;
	vpc->ctx = ctx;
	return vpc;
}

void vpc_metadata_free(struct vpc_metadata *vpc)
{
	if (vpc == NULL)
		return;
	if (vpc->query != NULL)
		metadata_cancel(vpc->query);
	free(vpc);
}
