// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/lacks.h"

#include "common/xalloc.h"
#include "provider-proxy/log_events.h"

#include <stdio.h>

static const char topic[] = "port";

struct lacks {
	struct notices *notices;
	struct ports *now; /* only its lacks; NULL: none */
	char *missing;
};

static const char *reason_of(const struct port_lack *lack)
{
	switch (lack->cause) {
	case PORT_LACK_CONFLICT:
		return "PortConflict";
	case PORT_LACK_LIMIT:
		return "PortRefused";
	case PORT_LACK_TAKEN:
	case PORT_LACK_ADDRESS:
		break;
	}
	return "PortUnavailable";
}

static bool is_of_machine(const struct port_lack *lack)
{
	return lack->cause == PORT_LACK_TAKEN || lack->cause == PORT_LACK_ADDRESS;
}

/* Of the load balancer itself, and of no Service. */
static bool is_of_balancer(const struct port_lack *lack)
{
	return str_is_empty(lack->service);
}

/* ---- comparing ---- */

static int compare_lacks(const void *a_, const void *b_)
{
	const struct port_lack *a = a_;
	const struct port_lack *b = b_;
	int order = socket_compare(&a->address, &b->address);
	if (order == 0)
		order = str_cmp(a->load_balancer, b->load_balancer);
	if (order == 0)
		order = str_cmp(a->service, b->service);
	return order != 0 ? order : str_cmp(a->message, b->message);
}

static const struct port_lack *find(const struct ports *ports, const struct port_lack *lack)
{
	if (ports == NULL || ports->lack_count == 0)
		return NULL;
	return bsearch(lack, ports->lacks, ports->lack_count, sizeof(*lack), compare_lacks);
}

static void log_changes(const struct ports *old, const struct ports *now)
{
	for (size_t i = 0; i < now->lack_count; i++) {
		const struct port_lack *lack = &now->lacks[i];
		if (find(old, lack) == NULL)
			log_event(&EV_LISTENER_LACKING, LOG_INT("port", lack->address.port),
				LOG_STR("address", lack->address.ip.text),
				LOG_TEXT("load_balancer", lack->load_balancer),
				LOG_TEXT("service", lack->service),
				LOG_TEXT("reason", lack->message));
	}
	for (size_t i = 0; old != NULL && i < old->lack_count; i++) {
		const struct port_lack *lack = &old->lacks[i];
		if (find(now, lack) == NULL)
			log_event(&EV_LISTENER_BACK, LOG_INT("port", lack->address.port),
				LOG_STR("address", lack->address.ip.text),
				LOG_TEXT("load_balancer", lack->load_balancer),
				LOG_TEXT("service", lack->service));
	}
}

/* ---- telling ---- */

static void tell(struct lacks *lacks, const struct port_lack *lack)
{
	char key[96];
	struct notice_owner owner = notice_of_service(lack->load_balancer, lack->service);
	struct name name = name_of(NAME_LOAD_BALANCER, lack->load_balancer);
	snprintf(key, sizeof(key), "%05u/%s/%s", lack->address.port, lack->address.ip.text,
		name.text);
	notices_set(lacks->notices, topic, str_from(key), &owner, reason_of(lack), lack->message);
}

static char *missing_of(const struct ports *ports)
{
	const struct port_lack *first = NULL;
	size_t count = 0;
	for (size_t i = 0; i < ports->lack_count; i++) {
		const struct port_lack *lack = &ports->lacks[i];
		if (!is_of_machine(lack) || !is_of_balancer(lack))
			continue;
		first = count++ == 0 ? lack : first;
	}
	if (first == NULL)
		return NULL;
	if (count == 1)
		return str_dup(first->message);
	return xasprintf("%.*s; and %zu more", STR_FMT(first->message), count - 1);
}

void lacks_set(struct lacks *lacks, const struct ports *ports)
{
	struct ports *now =
		ports_copy(&(struct ports){.lacks = ports->lacks, .lack_count = ports->lack_count});
	if (now->lack_count > 1)
		qsort(now->lacks, now->lack_count, sizeof(*now->lacks), compare_lacks);
	log_changes(lacks->now, now);
	notices_clear_all(lacks->notices, topic, STR(""));
	for (size_t i = 0; i < now->lack_count; i++)
		tell(lacks, &now->lacks[i]);
	ports_free(lacks->now);
	lacks->now = now;
	free(lacks->missing);
	lacks->missing = missing_of(now);
}

size_t lacks_total(const struct lacks *lacks)
{
	return lacks->now != NULL ? lacks->now->lack_count : 0;
}

const char *lacks_missing(const struct lacks *lacks)
{
	return lacks->missing;
}

static const struct port_lack *next_of(
	const struct lacks *lacks, struct str load_balancer_id, const struct port_lack *last)
{
	const struct ports *now = lacks->now;
	size_t from = last != NULL ? (size_t)(last - now->lacks) + 1 : 0;
	for (size_t i = from; now != NULL && i < now->lack_count; i++) {
		if (is_of_balancer(&now->lacks[i]) &&
			str_eq(now->lacks[i].load_balancer, load_balancer_id))
			return &now->lacks[i];
	}
	return NULL;
}

struct str lacks_of(const struct lacks *lacks, struct str load_balancer_id)
{
	const struct port_lack *lack = next_of(lacks, load_balancer_id, NULL);
	return lack != NULL ? lack->message : STR_NONE;
}

size_t lacks_count(const struct lacks *lacks, struct str load_balancer_id)
{
	const struct port_lack *lack = NULL;
	size_t count = 0;
	while ((lack = next_of(lacks, load_balancer_id, lack)) != NULL)
		count++;
	return count;
}

size_t lacks_taken(const struct lacks *lacks, struct str load_balancer_id)
{
	const struct port_lack *lack = NULL;
	size_t count = 0;
	while ((lack = next_of(lacks, load_balancer_id, lack)) != NULL)
		count += lack->cause == PORT_LACK_TAKEN;
	return count;
}

bool lacks_address(const struct lacks *lacks, struct str ip)
{
	const struct ports *now = lacks->now;
	for (size_t i = 0; now != NULL && i < now->lack_count; i++) {
		if (now->lacks[i].cause == PORT_LACK_ADDRESS &&
			str_eq_c(ip, now->lacks[i].address.ip.text))
			return true;
	}
	return false;
}

struct lacks *lacks_new(struct notices *notices)
{
	struct lacks *lacks = xcalloc(1, sizeof(*lacks));
	lacks->notices = notices;
	return lacks;
}

void lacks_free(struct lacks *lacks)
{
	if (lacks == NULL)
		return;
	ports_free(lacks->now);
	free(lacks->missing);
	free(lacks);
}
