// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/cert.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"

/* ---- what is wanted ---- */

void cert_set_object(struct cert *cert, struct object *object)
{
	struct certificate certificate;
	struct acm_parts parts;
	struct arena arena;
	arena_init(&arena);
	state_decode(cert->config->state, object, &arena, &certificate);
	struct acm_content before = cert->wanted;
	cert->object = object;
	cert->not_after = (int64_t)certificate.not_after;
	cert->unusable = acm_split(certificate.chain, certificate.private_key, &parts);
	cert->wanted = cert->unusable == NULL ? acm_content_of(&parts) : (struct acm_content){0};
	arena_fini(&arena);
	if (acm_content_eq(&before, &cert->wanted) && cert->unusable == NULL)
		return;
	/* A changed certificate is tried at once. */
	ev_timer_stop(cert->config->loop, &cert->retry);
	cert->is_refused = cert->unusable != NULL;
	str_set(&cert->problem, str_from(cert->unusable));
}

bool cert_note_use(struct cert *cert)
{
	const struct certs_config *config = cert->config;
	struct object **users;
	struct arena arena;
	arena_init(&arena);
	bool is_used = cert->object != NULL && state_users_of(cert->object, &arena, &users) != 0;
	arena_fini(&arena);
	/* As long as the translator has not told everything, nothing is unused. */
	bool is_unused = !is_used && state_is_complete(config->state);
	if (is_unused && !cert->is_unused)
		cert->unused_since = clock_monotonic_s();
	if (!is_unused)
		ev_timer_stop(config->loop, &cert->grace);
	cert->is_unused = is_unused;
	return is_used;
}

/* ---- copies ---- */

void cert_attach(struct cert *cert, struct cert_copy *copy)
{
	must(copy->cert == NULL);
	copy->cert = cert;
	if (cert->copy == NULL)
		cert->copy = copy;
	else
		TAILQ_INSERT_TAIL(&cert->old, copy, link);
}

void cert_lose(struct cert *cert, struct cert_copy *copy)
{
	must(copy->cert == cert);
	if (cert->copy == copy) {
		cert->copy = TAILQ_FIRST(&cert->old);
		if (cert->copy != NULL)
			TAILQ_REMOVE(&cert->old, cert->copy, link);
		cert->unreplaced = (struct acm_content){0};
	} else {
		TAILQ_REMOVE(&cert->old, copy, link);
	}
	copy->cert = NULL;
	cert_copies_remove(cert->copies, copy);
}

void cert_prefer(struct cert *cert, struct cert_copy *copy)
{
	must(copy->cert == cert);
	if (cert->copy == copy)
		return;
	TAILQ_REMOVE(&cert->old, copy, link);
	TAILQ_INSERT_TAIL(&cert->old, cert->copy, link);
	cert->copy = copy;
	cert->unreplaced = (struct acm_content){0};
}

void cert_choose(struct cert *cert)
{
	struct cert_copy *copy;
	if (cert->object == NULL || cert->copy == NULL ||
		acm_content_eq(&cert->copy->content, &cert->wanted))
		return;
	TAILQ_FOREACH (copy, &cert->old, link) {
		if (copy->is_proven && acm_content_eq(&copy->content, &cert->wanted)) {
			cert_prefer(cert, copy);
			return;
		}
	}
}

/* ---- the next step ---- */

static bool may_remove(const struct cert *cert)
{
	const struct certs_config *config = cert->config;
	return cert->is_unused &&
	       clock_monotonic_s() - cert->unused_since >= config->remove_delay_s;
}

enum cert_step cert_next_step(struct cert *cert, bool is_known)
{
	const struct cert_copy *copy = cert->copy;
	struct cert_facts facts = {
		.is_known = is_known,
		.is_wanted = cert_note_use(cert),
		.is_unusable = cert->unusable != NULL,
		.must_list = cert->must_list,
		.has_copy = copy != NULL,
		.has_old = !TAILQ_EMPTY(&cert->old),
		.may_remove = may_remove(cert),
		.has_object = cert->object != NULL,
	};
	if (copy != NULL) {
		facts.must_read = copy->must_read;
		facts.is_leaf_wanted = copy->content.leaf == cert->wanted.leaf;
		facts.is_content_wanted = acm_content_eq(&copy->content, &cert->wanted);
		facts.is_content_known = copy->is_compared;
		facts.is_tag_wanted = acm_content_eq(&copy->tagged, &cert->wanted);
		facts.is_replace_refused = acm_content_eq(&cert->unreplaced, &cert->wanted);
	}
	if (facts.is_wanted && !facts.is_content_wanted)
		facts.has_candidate = cert_copies_candidate(cert->copies, cert->not_after) != NULL;
	return cert_plan_next(&facts);
}

/* ---- what others are told ---- */

struct str cert_arn(const struct cert *cert)
{
	bool is_going = cert->call != NULL && cert->step == CERT_REMOVE;
	return cert->copy != NULL && cert->copy->is_proven && !is_going ? str_from(cert->copy->arn)
									: STR_NONE;
}

char *cert_answer_text(const struct cert *cert)
{
	struct str arn = cert_arn(cert);
	return xasprintf("%d %.*s %s", cert->is_refused, STR_FMT(arn),
		cert->problem != NULL ? cert->problem : "");
}

void cert_tell(struct cert *cert)
{
	if (cert->object == NULL)
		return;
	char *news = cert_answer_text(cert);
	if (strcmp(news, cert->told) == 0) {
		free(news);
		return;
	}
	free(cert->told);
	cert->told = news;
	cert->config->on_change(cert->config->ctx, object_id(cert->object));
}
