// SPDX-License-Identifier: Apache-2.0
#include "translator/tls.h"

#include "common/cert.h"
#include "translator/keys.h"

#include <stdio.h>
#include <time.h>

enum { TLS_SHOWN_HOSTS_MAX = 5 };

struct str tls_certificate_id(struct arena *arena, struct str namespace, struct str name)
{
	return key_join(arena, namespace, '/', name);
}

struct str tls_default_id(const struct tls_context *context, struct arena *arena)
{
	if (str_is_empty(context->default_name))
		return STR_NONE;
	const struct tls_secret *secret =
		context->find(context->ctx, context->default_namespace, context->default_name);
	if (secret->problem != NULL)
		return STR_NONE;
	return tls_certificate_id(arena, context->default_namespace, context->default_name);
}

void tls_collect(const struct plan *plan, const struct tls_context *context, struct tls_list *list)
{
	for (size_t i = 0; i < plan->tls.count; i++) {
		const struct plan_tls *entry = &plan->tls.items[i];
		if (str_is_empty(entry->secret))
			continue;
		const struct tls_secret *secret =
			context->find(context->ctx, plan->self.namespace, entry->secret);
		if (secret->problem != NULL)
			continue;
		void *items = list->ids;
		struct str *id = arena_push(list->arena, &items, &list->count, sizeof(*id));
		list->ids = items;
		*id = tls_certificate_id(list->arena, plan->self.namespace, entry->secret);
		if (str_is_empty(list->first))
			list->first = *id;
	}
}

int64_t tls_valid_from(const struct tls_secret *secret)
{
	return secret->not_before - TLS_SKEW_S;
}

int64_t tls_next_change(const struct tls_secret *secret, const struct tls_context *context)
{
	const int64_t moments[] = {
		tls_valid_from(secret), secret->not_after - context->warn_s, secret->not_after};
	int64_t next = INT64_MAX;
	if (secret->problem != NULL)
		return next;
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
		if (moments[i] > context->now_s && moments[i] < next)
			next = moments[i];
	}
	return next;
}

/* Dates rather than durations: a message that counts down would be new each time. */
static const char *date_text(int64_t seconds, char *text, size_t room)
{
	struct tm parts;
	time_t when = (time_t)seconds;
	if (gmtime_r(&when, &parts) == NULL ||
		strftime(text, room, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return "an unknown time";
	return text;
}

static void check_dates(const struct plan *plan, const struct tls_secret *secret,
	const struct tls_context *context, const char *field, const char *name,
	struct diag_list *diags)
{
	char date[64];
	if (context->now_s >= secret->not_after)
		diag_add(diags, &plan->self, "CertificateExpired", field,
			"the certificate of Secret %s expired at %s and is still served", name,
			date_text(secret->not_after, date, sizeof(date)));
	else if (context->now_s >= secret->not_after - context->warn_s)
		diag_add(diags, &plan->self, "CertificateExpires", field,
			"the certificate of Secret %s expires at %s", name,
			date_text(secret->not_after, date, sizeof(date)));
	else if (context->now_s < tls_valid_from(secret))
		diag_add(diags, &plan->self, "CertificateNotYetValid", field,
			"the certificate of Secret %s is not valid before %s", name,
			date_text(secret->not_before, date, sizeof(date)));
}

static void check_names(const struct plan *plan, const struct plan_tls *entry,
	const struct tls_secret *secret, const char *field, const char *name,
	struct diag_list *diags)
{
	struct str missing = STR("");
	size_t count = 0;
	for (size_t i = 0; i < entry->hosts.count; i++) {
		struct str host = entry->hosts.items[i];
		if (cert_covers(secret->names, secret->name_count, host))
			continue;
		if (count++ < TLS_SHOWN_HOSTS_MAX)
			missing = arena_printf(diags->arena, "%.*s%s%.*s", STR_FMT(missing),
				count > 1 ? ", " : "", STR_FMT(host));
	}
	if (count != 0)
		diag_add(diags, &plan->self, "CertificateNameMismatch", field,
			"the certificate of Secret %s is not good for %.*s%s", name,
			STR_FMT(missing), count > TLS_SHOWN_HOSTS_MAX ? ", ..." : "");
}

static void check_default(const struct plan *plan, const struct plan_tls *entry,
	const struct tls_context *context, struct diag_list *diags)
{
	const char *field =
		arena_printf(diags->arena, "spec.tls[%zu].secretName", entry->position).p;
	if (str_is_empty(context->default_name))
		diag_add(diags, &plan->self, "NoCertificate", field,
			"it names no Secret, and the administrator has set no default certificate");
	else if (context->default_is_made)
		diag_add(diags, &plan->self, "NoCertificate", field,
			"it names no Secret, and the administrator has set no default certificate: "
			"clients get one that nobody trusts");
	else if (str_is_empty(tls_default_id(context, diags->arena)))
		diag_add(diags, &plan->self, "NoCertificate", field,
			"it names no Secret, and the default certificate is not usable");
}

static void check_entry(const struct plan *plan, const struct plan_tls *entry,
	const struct tls_context *context, struct diag_list *diags)
{
	const char *field =
		arena_printf(diags->arena, "spec.tls[%zu].secretName", entry->position).p;
	const char *name = arena_printf(
		diags->arena, "%.*s/%.*s", STR_FMT(plan->self.namespace), STR_FMT(entry->secret))
				   .p;
	const struct tls_secret *secret =
		context->find(context->ctx, plan->self.namespace, entry->secret);
	if (!context->secrets_are_synced) {
		diag_add(diags, &plan->self, "SecretsNotReadable", field,
			"Secret %s cannot be used: Secrets are not watched", name);
	} else if (secret->problem == NULL) {
		check_dates(plan, secret, context, field, name, diags);
		check_names(plan, entry, secret, field, name, diags);
	} else if (secret->problem[0] == '\0') {
		diag_add(diags, &plan->self, "SecretNotFound", field,
			"there is no Secret %s of type kubernetes.io/tls", name);
	} else {
		diag_add(diags, &plan->self, "InvalidSecret", field,
			"the certificate of Secret %s cannot be served: %s", name, secret->problem);
	}
}

void tls_check(const struct plan *plan, const struct tls_context *context, struct diag_list *diags)
{
	for (size_t i = 0; i < plan->tls.count; i++) {
		const struct plan_tls *entry = &plan->tls.items[i];
		if (str_is_empty(entry->secret))
			check_default(plan, entry, context, diags);
		else
			check_entry(plan, entry, context, diags);
	}
}
