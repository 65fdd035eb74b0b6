// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/cert_uses.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-rancher/api_json.h"

struct cert_use {
	RB_ENTRY(cert_use) node;
	size_t count;
	char id[API_ID_LEN_MAX + 1];
};

RB_HEAD(use_tree, cert_use);

struct cert_uses {
	struct use_tree all;
};

static int compare(const struct cert_use *a, const struct cert_use *b)
{
	return strcmp(a->id, b->id);
}

RB_GENERATE_LOCAL(use_tree, cert_use, node, compare)

static struct cert_use *find(const struct cert_uses *uses, struct str id)
{
	struct cert_use *at = RB_ROOT(&uses->all);
	while (at != NULL) {
		int order = str_cmp(id, str_from(at->id));
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, node) : RB_RIGHT(at, node);
	}
	return NULL;
}

struct cert_uses *cert_uses_new(void)
{
	struct cert_uses *uses = xcalloc(1, sizeof(*uses));
	RB_INIT(&uses->all);
	return uses;
}

void cert_uses_free(struct cert_uses *uses)
{
	struct cert_use *use;
	if (uses == NULL)
		return;
	while ((use = RB_ROOT(&uses->all)) != NULL) {
		RB_REMOVE(use_tree, &uses->all, use);
		free(use);
	}
	free(uses);
}

size_t cert_uses_add(struct cert_uses *uses, struct str id, int change)
{
	struct cert_use *use = find(uses, id);
	if (use == NULL) {
		must(change > 0 && id.len <= API_ID_LEN_MAX);
		use = xcalloc(1, sizeof(*use));
		str_put(use->id, id);
		RB_INSERT(use_tree, &uses->all, use);
	}
	must(change > 0 || use->count != 0);
	use->count += change > 0 ? 1 : (size_t)-1;
	size_t count = use->count;
	if (count == 0) {
		RB_REMOVE(use_tree, &uses->all, use);
		free(use);
	}
	return count;
}

size_t cert_uses_count(const struct cert_uses *uses, struct str id)
{
	const struct cert_use *use = find(uses, id);
	return use != NULL ? use->count : 0;
}
