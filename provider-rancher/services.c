// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/services.h"

#include "common/must.h"
#include "common/slab.h"
#include "common/sorted.h"
#include "common/tree.h"
#include "common/xalloc.h"

struct service {
	uint64_t list; /* the last one that showed it; higher than any if an event did */
	uint8_t uid_len;
	uint8_t id_len;
	char texts[]; /* the uid, then the id with a NUL */
};

struct wait {
	RB_ENTRY(wait) by_uid;
	RB_ENTRY(wait) by_balancer;
	struct balancer *balancer;
	size_t uid_len;
	char uid[];
};

RB_HEAD(wait_uids, wait);
RB_HEAD(wait_balancers, wait);

struct services {
	struct sorted all; /* by uid */
	uint64_t newest_list;
	struct wait_uids waits_by_uid;
	struct wait_balancers waits_by_balancer;
};

static struct str uid_of(const struct service *service)
{
	return (struct str){service->texts, service->uid_len};
}

static struct str id_of(const struct service *service)
{
	return (struct str){service->texts + service->uid_len, service->id_len};
}

static struct str uid_of_wait(const struct wait *wait)
{
	return (struct str){wait->uid, wait->uid_len};
}

static int compare_services(const void *left, const void *right)
{
	return str_cmp(uid_of(left), uid_of(right));
}

static int compare_uid(const void *uid, const void *service)
{
	return str_cmp(*(const struct str *)uid, uid_of(service));
}

static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int compare_waits_by_uid(const struct wait *a, const struct wait *b)
{
	int order = str_cmp(uid_of_wait(a), uid_of_wait(b));
	return order != 0 ? order : compare_pointers(a->balancer, b->balancer);
}

static int compare_waits_by_balancer(const struct wait *a, const struct wait *b)
{
	int order = compare_pointers(a->balancer, b->balancer);
	return order != 0 ? order : str_cmp(uid_of_wait(a), uid_of_wait(b));
}

RB_GENERATE_LOCAL(wait_uids, wait, by_uid, compare_waits_by_uid)
RB_GENERATE_LOCAL(wait_balancers, wait, by_balancer, compare_waits_by_balancer)

/* ---- services ---- */

static struct service *find(const struct services *services, struct str uid)
{
	return sorted_find(&services->all, &uid, compare_uid);
}

struct str services_find(const struct services *services, struct str uid)
{
	const struct service *service = find(services, uid);
	return service != NULL ? id_of(service) : STR_NONE;
}

/* Not sizeof(): the texts start inside the padding of the struct. */
static size_t service_len(size_t uid_len, size_t id_len)
{
	return offsetof(struct service, texts) + uid_len + id_len + 1;
}

static void forget(struct services *services, struct service *service)
{
	sorted_remove(&services->all, service);
	slab_free(service, service_len(service->uid_len, service->id_len));
}

static struct service *add(struct services *services, struct str uid, struct str id)
{
	must(uid.len <= UINT8_MAX && id.len <= API_ID_LEN_MAX);
	struct service *service = slab_zalloc(service_len(uid.len, id.len));
	service->uid_len = (uint8_t)uid.len;
	service->id_len = (uint8_t)id.len;
	str_put(service->texts, uid);
	str_put(service->texts + uid.len, id);
	must(sorted_add(&services->all, service));
	return service;
}

/* ---- waiting balancers ---- */

static void free_wait(struct services *services, struct wait *wait)
{
	RB_REMOVE(wait_uids, &services->waits_by_uid, wait);
	RB_REMOVE(wait_balancers, &services->waits_by_balancer, wait);
	free(wait);
}

/* The first one with this uid or a greater one. */
static struct wait *first_wait(const struct services *services, struct str uid)
{
	struct wait *at = RB_ROOT(&services->waits_by_uid);
	struct wait *found = NULL;
	while (at != NULL) {
		if (str_cmp(uid, uid_of_wait(at)) <= 0) {
			found = at;
			at = RB_LEFT(at, by_uid);
		} else {
			at = RB_RIGHT(at, by_uid);
		}
	}
	return found;
}

void services_wait(struct services *services, struct str uid, struct balancer *balancer)
{
	struct wait *wait = xcalloc(1, sizeof(*wait) + uid.len);
	wait->balancer = balancer;
	wait->uid_len = uid.len;
	str_put(wait->uid, uid);
	if (RB_INSERT(wait_uids, &services->waits_by_uid, wait) != NULL) {
		free(wait);
		return;
	}
	must(RB_INSERT(wait_balancers, &services->waits_by_balancer, wait) == NULL);
}

void services_stop_waiting(struct services *services, struct balancer *balancer)
{
	struct wait *at = RB_ROOT(&services->waits_by_balancer);
	struct wait *next = NULL;
	struct wait *first = NULL;
	while (at != NULL) {
		int order = compare_pointers(balancer, at->balancer);
		if (order == 0)
			first = at;
		at = order <= 0 ? RB_LEFT(at, by_balancer) : RB_RIGHT(at, by_balancer);
	}
	for (at = first; at != NULL && at->balancer == balancer; at = next) {
		next = wait_balancers_RB_NEXT(at);
		free_wait(services, at);
	}
}

size_t services_awaited(const struct services *services, struct str *ret_uids, size_t max)
{
	size_t count = 0;
	struct wait *wait = first_wait(services, STR(""));
	for (; wait != NULL && count < max; wait = wait_uids_RB_NEXT(wait)) {
		if (count == 0 || !str_eq(ret_uids[count - 1], uid_of_wait(wait)))
			ret_uids[count++] = uid_of_wait(wait);
	}
	return count;
}

bool services_has_waiting(const struct services *services)
{
	return !RB_EMPTY(&services->waits_by_uid);
}

static void wake(struct services *services, struct str uid,
	void (*on_known)(void *ctx, struct balancer *balancer), void *ctx)
{
	struct wait *wait;
	while ((wait = first_wait(services, uid)) != NULL && str_eq(uid_of_wait(wait), uid)) {
		struct balancer *balancer = wait->balancer;
		free_wait(services, wait);
		on_known(ctx, balancer);
	}
}

/* ---- observations ---- */

void services_take(struct services *services, const struct rancher_service *told, uint64_t list,
	void (*on_known)(void *ctx, struct balancer *balancer), void *ctx)
{
	struct service *service = find(services, told->uid);
	if (list > services->newest_list)
		services->newest_list = list;
	if (told->is_gone) {
		/* The removal of a replaced Service may be reported after its replacement. */
		if (service != NULL && str_eq(told->id, id_of(service)))
			forget(services, service);
		return;
	}
	uint64_t seen_before = service != NULL ? service->list : 0;
	if (service != NULL && !str_eq(told->id, id_of(service))) {
		forget(services, service);
		service = NULL;
	}
	if (service == NULL)
		service = add(services, told->uid, told->id);
	service->list = seen_before;
	/* A Service reported by an event during a list need not be in that list. */
	uint64_t seen = list != 0 ? list : services->newest_list + 1;
	if (seen > service->list)
		service->list = seen;
	wake(services, told->uid, on_known, ctx);
}

void services_end_list(struct services *services, uint64_t list)
{
	struct service *next;
	struct service *service = sorted_first(&services->all);
	for (; service != NULL; service = next) {
		next = sorted_next(&services->all, service);
		if (service->list < list)
			forget(services, service);
	}
}

struct services *services_new(void)
{
	struct services *services = xcalloc(1, sizeof(*services));
	sorted_init(&services->all, compare_services);
	RB_INIT(&services->waits_by_uid);
	RB_INIT(&services->waits_by_balancer);
	return services;
}

void services_free(struct services *services)
{
	struct service *service;
	struct wait *wait;
	if (services == NULL)
		return;
	while ((service = sorted_first(&services->all)) != NULL)
		forget(services, service);
	while ((wait = RB_ROOT(&services->waits_by_uid)) != NULL)
		free_wait(services, wait);
	free(services);
}
