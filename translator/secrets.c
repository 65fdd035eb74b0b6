// SPDX-License-Identifier: Apache-2.0
#include "translator/secrets.h"

#include "common/xalloc.h"
#include "translator/record.h"

#include <stdlib.h>

struct secrets {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	const struct engine_config *config;
	struct arena *scratch;
	int64_t now_s;
	int64_t next_change_s; /* when the next date of a certificate has to be reported */
};

struct secrets *secrets_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct arena *scratch)
{
	struct secrets *secrets = xcalloc(1, sizeof(*secrets));
	*secrets = (struct secrets){.graph = graph,
		.source = source,
		.provider = provider,
		.config = config,
		.scratch = scratch,
		.next_change_s = INT64_MAX};
	return secrets;
}

void secrets_free(struct secrets *secrets)
{
	free(secrets);
}

/* ---- facts about a Secret ---- */

static const struct tls_secret *find_secret(void *ctx, struct str namespace, struct str name)
{
	static const struct tls_secret missing = {.problem = ""};
	struct secrets *secrets = ctx;
	struct str key = tls_certificate_id(secrets->scratch, namespace, name);
	struct record *record = graph_find(secrets->graph, NODE_SECRET, key);
	if (record == NULL)
		return &missing;
	return &secrets_facts(secrets, (struct secret_node *)(void *)record)->view;
}

struct tls_context secrets_context(struct secrets *secrets)
{
	return (struct tls_context){
		.find = find_secret,
		.ctx = secrets,
		.secrets_are_synced = source_peer_syncs(secrets->source, RECORD_SECRET),
		.default_namespace = secrets->config->default_namespace,
		.default_name = secrets->config->default_name,
		.default_is_made = str_eq_c(secrets->config->default_name, ENGINE_MADE_NAME),
		.now_s = secrets->now_s,
		.warn_s = secrets->config->certificate_warn_s,
	};
}

static void note_time(struct secrets *secrets, const struct secret_facts *facts)
{
	struct tls_context tls = secrets_context(secrets);
	int64_t next_s = tls_next_change(&facts->view, &tls);
	if (next_s < secrets->next_change_s)
		secrets->next_change_s = next_s;
}

const struct secret_facts *secrets_facts(struct secrets *secrets, struct secret_node *secret)
{
	if (secret->facts == NULL) {
		struct arena work;
		struct secret_record record;
		bool is_there = secret->record.payload != NULL;
		arena_init(&work);
		if (is_there)
			record_read(&secret->record, &work, &record);
		secret->facts =
			facts_new(is_there ? &record : NULL, secrets->config->takes_keyless, &work);
		arena_fini(&work);
		note_time(secrets, secret->facts);
	}
	return secret->facts;
}

bool secrets_set_time(struct secrets *secrets, int64_t now_s)
{
	struct node *node;
	/* What has been told by a clock that was ahead is looked at again. */
	bool due = now_s >= secrets->next_change_s || now_s < secrets->now_s;
	secrets->now_s = now_s;
	if (!due)
		return false;
	/* This happens only a few times in the life of a certificate. */
	secrets->next_change_s = INT64_MAX;
	RB_FOREACH (node, node_tree, &secrets->graph->records[NODE_SECRET]) {
		const struct secret_facts *facts = ((struct secret_node *)(void *)node)->facts;
		if (facts != NULL)
			note_time(secrets, facts);
	}
	return true;
}

/* ---- which Secrets are sent ---- */

struct secret_name secrets_default(const struct secrets *secrets)
{
	return (struct secret_name){
		secrets->config->default_namespace, secrets->config->default_name};
}

bool secrets_is_default(const struct secrets *secrets, const struct node *secret)
{
	return str_eq(node_name(secret), secrets->config->default_name) &&
	       str_eq(node_namespace(secret), secrets->config->default_namespace);
}

bool secrets_take_keyless(const struct secrets *secrets)
{
	return secrets->config->takes_keyless;
}

bool object_is_wanted(struct secrets *secrets, struct node *node)
{
	if (!node_has_users(node))
		return false;
	if (node->kind == NODE_HOST)
		return !((struct host_node *)(void *)node)->is_unserved;
	if (node->kind != NODE_SECRET)
		return true;
	/* A key is sent only where it is used. */
	struct secret_node *secret = (struct secret_node *)(void *)node;
	bool is_shown = !provider_peer_is_merged(secrets->provider) || !RB_EMPTY(&secret->shown) ||
			secrets_is_default(secrets, node);
	return is_shown && provider_peer_can_serve(secrets->provider, STR("https")) &&
	       secrets_facts(secrets, secret)->view.problem == NULL;
}
