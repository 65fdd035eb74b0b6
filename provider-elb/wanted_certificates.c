// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/wanted_builder.h"

#include <stdlib.h>

/* The certificates that a listener can have now; the first is its default one. */
struct usable {
	struct str_list arns;
	bool waits; /* another one is being imported */
};

static bool has(const struct str_list *arns, struct str arn)
{
	for (size_t i = 0; i < arns->count; i++) {
		if (str_eq(arns->items[i], arn))
			return true;
	}
	return false;
}

static void add(struct wanted_builder *b, struct str id, struct usable *usable)
{
	bool is_refused = false;
	struct str arn = b->lookup->find_certificate(b->lookup->ctx, id, &is_refused);
	if (arn.p == NULL) {
		if (is_refused)
			notices_add_certificate(&b->notices, NOTICE_CERTIFICATE_REFUSED, id);
		usable->waits |= !is_refused;
		return;
	}
	if (has(&usable->arns, arn))
		return;
	/* All but the first count for the quota; so the list is short. */
	bool is_first = usable->arns.count == 0;
	if (!is_first && b->certificate_count >= b->settings->certificates_max) {
		notices_add_certificate(&b->notices, NOTICE_CERTIFICATE_QUOTA, id);
		return;
	}
	b->certificate_count += !is_first;
	struct str *place = arena_push(
		b->arena, (void **)&usable->arns.items, &usable->arns.count, sizeof(*place));
	*place = arn;
}

static int compare_texts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

bool wanted_certificates_add(
	struct wanted_builder *b, const struct listener *from, struct elb_listener *listener)
{
	struct usable usable = {.waits = false};
	if (from->default_certificate.len != 0)
		add(b, from->default_certificate, &usable);
	for (size_t i = 0; i < from->certificates.count; i++)
		add(b, from->certificates.items[i], &usable);
	if (usable.arns.count == 0 && usable.waits) {
		b->balancer->waits_for_certificates = true;
		return false;
	}
	listener->ssl_policy = b->settings->ssl_policy;
	listener->default_certificate = b->settings->default_certificate;
	if (usable.arns.count == 0) {
		if (listener->default_certificate.p != NULL)
			return true;
		notices_add(&b->notices, NOTICE_NO_CERTIFICATE, STR_NONE,
			arena_printf(b->arena, "port %llu", (unsigned long long)from->port));
		return false;
	}
	listener->default_certificate = usable.arns.items[0];
	listener->certificates.items = usable.arns.items + 1;
	listener->certificates.count = usable.arns.count - 1;
	if (listener->certificates.count != 0)
		qsort(listener->certificates.items, listener->certificates.count,
			sizeof(struct str), compare_texts);
	return true;
}
