// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/cert_copies.h"

#include "common/must.h"
#include "common/xalloc.h"

static int compare(const struct cert_copy *a, const struct cert_copy *b)
{
	return strcmp(a->arn, b->arn);
}

RB_GENERATE_LOCAL(cert_copy_tree, cert_copy, by_arn, compare)

void cert_copies_init(struct cert_copies *copies)
{
	*copies = (struct cert_copies){.by_arn = RB_INITIALIZER(&copies->by_arn)};
}

void cert_copies_fini(struct cert_copies *copies)
{
	struct cert_copy *copy;
	while ((copy = RB_ROOT(&copies->by_arn)) != NULL) {
		RB_REMOVE(cert_copy_tree, &copies->by_arn, copy);
		free(copy);
	}
	copies->count = 0;
}

struct cert_copy *cert_copies_find(const struct cert_copies *copies, struct str arn)
{
	struct cert_copy *at = RB_ROOT(&copies->by_arn);
	while (at != NULL) {
		int order = str_cmp(arn, str_from(at->arn));
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, by_arn) : RB_RIGHT(at, by_arn);
	}
	return NULL;
}

struct cert_copy *cert_copies_add(struct cert_copies *copies, struct str arn)
{
	struct cert_copy *copy = cert_copies_find(copies, arn);
	if (copy != NULL)
		return copy;
	if (copies->count == CERT_COPIES_MAX)
		return NULL;
	copy = xcalloc(1, sizeof(*copy) + arn.len + 1);
	str_put(copy->arn, arn);
	copy->not_after = -1;
	copy->odd_not_after = -1;
	RB_INSERT(cert_copy_tree, &copies->by_arn, copy);
	copies->count++;
	return copy;
}

void cert_copies_remove(struct cert_copies *copies, struct cert_copy *copy)
{
	must(copy->cert == NULL);
	RB_REMOVE(cert_copy_tree, &copies->by_arn, copy);
	copies->count--;
	free(copy);
}

void cert_copies_end_list(struct cert_copies *copies, uint64_t number)
{
	struct cert_copy *copy;
	struct cert_copy *next;
	RB_FOREACH_SAFE (copy, cert_copy_tree, &copies->by_arn, next) {
		if (copy->seen_in >= number)
			continue;
		if (copy->cert == NULL)
			cert_copies_remove(copies, copy);
		else
			copy->must_read = true;
	}
}

struct cert_copy *cert_copies_candidate(const struct cert_copies *copies, int64_t not_after)
{
	struct cert_copy *copy;
	/* The head is not changed. */
	RB_FOREACH (copy, cert_copy_tree, (struct cert_copy_tree *)(uintptr_t)&copies->by_arn) {
		if (copy->cert == NULL && !copy->has_tags &&
			(copy->not_after == -1 || copy->not_after == not_after))
			return copy;
	}
	return NULL;
}
