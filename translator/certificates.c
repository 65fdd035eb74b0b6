// SPDX-License-Identifier: Apache-2.0
#include "translator/certificates.h"

#include "common/cert.h"
#include "common/must.h"
#include "translator/claim_keys.h"
#include "translator/record.h"

#include <stdlib.h>

static int compare_hosts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static void list_hosts(
	const struct objects *objects, struct secret_node *node, struct certificate *certificate)
{
	struct claim_node *claim;
	struct str_list hosts = {0};
	size_t kept = 0;
	RB_FOREACH (claim, shown_tree, &node->shown) {
		void *items = hosts.items;
		struct str *host =
			arena_push(objects->scratch, &items, &hosts.count, sizeof(*host));
		hosts.items = items;
		*host = claim_host(claim);
	}
	if (hosts.count > 1)
		qsort(hosts.items, hosts.count, sizeof(struct str), compare_hosts);
	/* The same name may be claimed on the load balancers of two classes. */
	for (size_t i = 0; i < hosts.count && kept < CERTIFICATE_HOSTS_MAX; i++) {
		if (kept == 0 || !str_eq(hosts.items[kept - 1], hosts.items[i]))
			hosts.items[kept++] = hosts.items[i];
	}
	certificate->hosts = (struct str_list){hosts.items, kept};
}

/* The chain as the provider gets it. */
static struct str write_chain(const struct objects *objects, const struct secret_facts *facts,
	const struct secret_record *record)
{
	struct cert_info info;
	if (facts->is_in_form)
		return record->certificate;
	/* It was checked when it became wanted. */
	struct str key = record->private_key.len != 0 ? record->private_key : STR_NONE;
	must(cert_check(record->certificate, key, objects->scratch, &info) == NULL);
	return info.chain;
}

static struct str_list copy_names(const struct objects *objects, const struct tls_secret *secret)
{
	struct str_list copy = {
		arena_calloc(objects->scratch, secret->name_count, sizeof(struct str)),
		secret->name_count};
	for (size_t i = 0; i < copy.count; i++)
		copy.items[i] = secret->names[i];
	return copy;
}

const struct certificate *certificate_build(const struct objects *objects, struct secret_node *node)
{
	struct certificate *certificate = arena_alloc(objects->scratch, sizeof(*certificate));
	const struct secret_facts *facts = secrets_facts(objects->secrets, node);
	struct secret_record record;
	record_read(&node->record, objects->scratch, &record);
	*certificate = (struct certificate){
		.key = {.kind = LB_CERTIFICATE, .id = node_key(&node->record.node)},
		.namespace = record.key.namespace,
		.name = record.key.name,
		.chain = write_chain(objects, facts, &record),
		.private_key = record.private_key,
		.names = copy_names(objects, &facts->view),
		.not_after = facts->view.not_after > 0 ? (uint64_t)facts->view.not_after : 0,
	};
	list_hosts(objects, node, certificate);
	return certificate;
}
