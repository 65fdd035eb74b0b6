// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/unserved.h"

#include "common/xalloc.h"
#include "provider-proxy/log_events.h"

#include <stdio.h>

static const char topic[] = "port";

struct unserved {
	struct notices *notices;
	struct ports *now; /* only the unserved ones; NULL: none */
	char *missing;
};

static const char *reason_of(const struct unserved_port *port)
{
	switch (port->cause) {
	case UNSERVED_CONFLICT:
		return "PortConflict";
	case UNSERVED_LIMIT:
		return "PortRefused";
	case UNSERVED_TAKEN:
	case UNSERVED_ADDRESS:
		break;
	}
	return "PortUnavailable";
}

static bool is_of_machine(const struct unserved_port *port)
{
	return port->cause == UNSERVED_TAKEN || port->cause == UNSERVED_ADDRESS;
}

/* Owned by the load balancer itself rather than by a Service. */
static bool is_of_balancer(const struct unserved_port *port)
{
	return str_is_empty(port->service);
}

/* ---- comparing ---- */

static int compare_unserved(const void *a_, const void *b_)
{
	const struct unserved_port *a = a_;
	const struct unserved_port *b = b_;
	int order = socket_compare(&a->address, &b->address);
	if (order == 0)
		order = str_cmp(a->load_balancer, b->load_balancer);
	if (order == 0)
		order = str_cmp(a->service, b->service);
	return order != 0 ? order : str_cmp(a->message, b->message);
}

static const struct unserved_port *find(const struct ports *ports, const struct unserved_port *port)
{
	if (ports == NULL || ports->unserved_count == 0)
		return NULL;
	return bsearch(
		port, ports->unserved, ports->unserved_count, sizeof(*port), compare_unserved);
}

static void log_changes(const struct ports *old, const struct ports *now)
{
	for (size_t i = 0; i < now->unserved_count; i++) {
		const struct unserved_port *port = &now->unserved[i];
		if (find(old, port) == NULL)
			log_event(&EV_LISTENER_UNSERVED, LOG_INT("port", port->address.port),
				LOG_STR("address", port->address.ip.text),
				LOG_TEXT("load_balancer", port->load_balancer),
				LOG_TEXT("service", port->service),
				LOG_TEXT("reason", port->message));
	}
	for (size_t i = 0; old != NULL && i < old->unserved_count; i++) {
		const struct unserved_port *port = &old->unserved[i];
		if (find(now, port) == NULL)
			log_event(&EV_LISTENER_BACK, LOG_INT("port", port->address.port),
				LOG_STR("address", port->address.ip.text),
				LOG_TEXT("load_balancer", port->load_balancer),
				LOG_TEXT("service", port->service));
	}
}

/* ---- notices ---- */

static void tell(struct unserved *unserved, const struct unserved_port *port)
{
	char key[96];
	struct notice_owner owner = notice_of_service(port->load_balancer, port->service);
	struct name name = name_of(NAME_LOAD_BALANCER, port->load_balancer);
	snprintf(key, sizeof(key), "%05u%s/%s/%s", port->address.port,
		port->address.is_udp ? "u" : "", port->address.ip.text, name.text);
	notices_set(
		unserved->notices, topic, str_from(key), &owner, reason_of(port), port->message);
}

static char *missing_of(const struct ports *ports)
{
	const struct unserved_port *first = NULL;
	size_t count = 0;
	for (size_t i = 0; i < ports->unserved_count; i++) {
		const struct unserved_port *port = &ports->unserved[i];
		if (!is_of_machine(port) || !is_of_balancer(port))
			continue;
		first = count++ == 0 ? port : first;
	}
	if (first == NULL)
		return NULL;
	if (count == 1)
		return str_dup(first->message);
	return xasprintf("%.*s; and %zu more", STR_FMT(first->message), count - 1);
}

void unserved_set(struct unserved *unserved, const struct ports *ports)
{
	struct ports *now = ports_copy(&(struct ports){
		.unserved = ports->unserved, .unserved_count = ports->unserved_count});
	if (now->unserved_count > 1)
		qsort(now->unserved, now->unserved_count, sizeof(*now->unserved), compare_unserved);
	log_changes(unserved->now, now);
	notices_clear_all(unserved->notices, topic, STR(""));
	for (size_t i = 0; i < now->unserved_count; i++)
		tell(unserved, &now->unserved[i]);
	ports_free(unserved->now);
	unserved->now = now;
	free(unserved->missing);
	unserved->missing = missing_of(now);
}

size_t unserved_total(const struct unserved *unserved)
{
	return unserved->now != NULL ? unserved->now->unserved_count : 0;
}

const char *unserved_missing(const struct unserved *unserved)
{
	return unserved->missing;
}

static const struct unserved_port *next_of(const struct unserved *unserved,
	struct str load_balancer_id, const struct unserved_port *last)
{
	const struct ports *now = unserved->now;
	size_t from = last != NULL ? (size_t)(last - now->unserved) + 1 : 0;
	for (size_t i = from; now != NULL && i < now->unserved_count; i++) {
		if (is_of_balancer(&now->unserved[i]) &&
			str_eq(now->unserved[i].load_balancer, load_balancer_id))
			return &now->unserved[i];
	}
	return NULL;
}

struct str unserved_of(const struct unserved *unserved, struct str load_balancer_id)
{
	const struct unserved_port *port = next_of(unserved, load_balancer_id, NULL);
	return port != NULL ? port->message : STR_NONE;
}

size_t unserved_count(const struct unserved *unserved, struct str load_balancer_id)
{
	const struct unserved_port *port = NULL;
	size_t count = 0;
	while ((port = next_of(unserved, load_balancer_id, port)) != NULL)
		count++;
	return count;
}

size_t unserved_taken(const struct unserved *unserved, struct str load_balancer_id)
{
	const struct unserved_port *port = NULL;
	size_t count = 0;
	while ((port = next_of(unserved, load_balancer_id, port)) != NULL)
		count += port->cause == UNSERVED_TAKEN;
	return count;
}

bool unserved_address(const struct unserved *unserved, struct str ip)
{
	const struct ports *now = unserved->now;
	for (size_t i = 0; now != NULL && i < now->unserved_count; i++) {
		if (now->unserved[i].cause == UNSERVED_ADDRESS &&
			str_eq_c(ip, now->unserved[i].address.ip.text))
			return true;
	}
	return false;
}

struct unserved *unserved_new(struct notices *notices)
{
	struct unserved *unserved = xcalloc(1, sizeof(*unserved));
	unserved->notices = notices;
	return unserved;
}

void unserved_free(struct unserved *unserved)
{
	if (unserved == NULL)
		return;
	ports_free(unserved->now);
	free(unserved->missing);
	free(unserved);
}
