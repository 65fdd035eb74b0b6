// SPDX-License-Identifier: Apache-2.0
/* Secrets as those see them who need certificates: looked at once, until they change. */
#include "translator/state.h"

#include "translator/record.h"

static const struct tls_secret *find_secret(void *ctx, struct str namespace, struct str name)
{
	static const struct tls_secret missing = {.problem = ""};
	struct engine *engine = ctx;
	struct str key = tls_certificate_id(&engine->scratch, namespace, name);
	struct record *record = graph_find(&engine->graph, NODE_SECRET, key);
	if (record == NULL)
		return &missing;
	return &secret_facts_get(engine, (struct secret_node *)(void *)record)->view;
}

struct tls_context object_tls_context(struct engine *engine)
{
	return (struct tls_context){
		.find = find_secret,
		.ctx = engine,
		.secrets_are_synced = source_peer_syncs(engine->source, RECORD_SECRET),
		.default_namespace = engine->config.default_namespace,
		.default_name = engine->config.default_name,
		.now_s = engine->now_s,
		.warn_s = engine->config.certificate_warn_s,
	};
}

const struct secret_facts *secret_facts_get(struct engine *engine, struct secret_node *secret)
{
	if (secret->facts == NULL) {
		struct arena work;
		struct secret_record record;
		bool is_there = secret->record.payload != NULL;
		arena_init(&work);
		if (is_there)
			record_read(&secret->record, &work, &record);
		secret->facts =
			facts_new(is_there ? &record : NULL, engine->config.takes_keyless, &work);
		arena_fini(&work);
		struct tls_context tls = object_tls_context(engine);
		int64_t next_s = tls_next_change(&secret->facts->view, &tls);
		if (next_s < engine->next_change_s)
			engine->next_change_s = next_s;
	}
	return secret->facts;
}
