// SPDX-License-Identifier: Apache-2.0
#include "translator/facts.h"

#include "common/cert.h"
#include "common/xalloc.h"

/* One allocation: there may be a Secret for each of ten thousand Ingresses. */
static struct secret_facts *facts_of(const struct cert_info *info)
{
	size_t bytes = info->name_count * sizeof(struct str);
	for (size_t i = 0; i < info->name_count; i++)
		bytes += info->names[i].len;
	struct secret_facts *facts = xcalloc(1, sizeof(*facts) + bytes);
	struct str *names = (struct str *)(void *)(facts + 1);
	char *text = (char *)(names + info->name_count);
	for (size_t i = 0; i < info->name_count; i++) {
		size_t len = info->names[i].len;
		str_put(text, info->names[i]);
		names[i] = (struct str){text, len};
		text += len;
	}
	facts->view.names = names;
	facts->view.name_count = info->name_count;
	facts->view.not_before = info->not_before;
	facts->view.not_after = info->not_after;
	return facts;
}

struct secret_facts *facts_new(
	const struct secret_record *secret, bool takes_keyless, struct arena *work)
{
	struct cert_info info = {0};
	const char *problem = "";
	if (secret != NULL && secret->private_key.len == 0)
		problem = takes_keyless ? cert_check(secret->certificate, STR_NONE, work, &info)
					: "tls.key is empty";
	else if (secret != NULL)
		problem = cert_check(secret->certificate, secret->private_key, work, &info);
	if (problem != NULL)
		info = (struct cert_info){0};
	struct secret_facts *facts = facts_of(&info);
	facts->view.problem = problem;
	facts->is_in_form = problem == NULL && str_eq(info.chain, secret->certificate);
	return facts;
}

void facts_free(struct secret_facts *facts)
{
	free(facts);
}

static bool is_quiet(const struct tls_secret *secret, const struct tls_context *context)
{
	return context->now_s >= tls_valid_from(secret) &&
	       context->now_s < secret->not_after - context->warn_s;
}

static bool same_names(const struct tls_secret *a, const struct tls_secret *b)
{
	if (a->name_count != b->name_count)
		return false;
	for (size_t i = 0; i < a->name_count; i++) {
		if (!str_eq(a->names[i], b->names[i]))
			return false;
	}
	return true;
}

bool facts_sound_alike(const struct secret_facts *a, const struct secret_facts *b,
	const struct tls_context *context)
{
	const struct tls_secret *x = &a->view;
	const struct tls_secret *y = &b->view;
	if (x->problem != NULL || y->problem != NULL)
		return x->problem != NULL && y->problem != NULL &&
		       strcmp(x->problem, y->problem) == 0;
	return is_quiet(x, context) && is_quiet(y, context) && same_names(x, y);
}
