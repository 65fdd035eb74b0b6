// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/certs_asking.h"

#include "common/xalloc.h"
#include "provider-haproxy/certs.h"

#include <stdio.h>

/* ---- order ---- */

/* The text behind its first label. */
static const char *parent_of(const char *host)
{
	const char *dot = strchr(host, '.');
	return dot != NULL ? dot + 1 : "";
}

/* Those of a parent stand together, and in there those of a host. */
static int compare_asking(const struct asking *a, const struct asking *b)
{
	int order = strcmp(parent_of(a->host), parent_of(b->host));
	if (order == 0)
		order = strcmp(a->host, b->host);
	return order != 0 ? order : strcmp(a->balancer, b->balancer);
}

static int compare_hosts(const struct cover *a, const struct cover *b)
{
	return strcmp(a->host, b->host);
}

static int compare_objects(const struct cover *a, const struct cover *b)
{
	int order = strcmp(a->id, b->id);
	return order != 0 ? order : strcmp(a->host, b->host);
}

RB_GENERATE_LOCAL(asking_tree, asking, node, compare_asking)
RB_GENERATE_LOCAL(cover_host_tree, cover, node, compare_hosts)
RB_GENERATE_LOCAL(cover_object_tree, cover, by_object, compare_objects)

static void set_stale(struct certs *certs, struct asking *asking)
{
	if (asking->is_stale)
		return;
	asking->is_stale = true;
	TAILQ_INSERT_TAIL(&certs->stale, asking, link);
}

/* The first of this host; NULL: it does not ask. */
static struct asking *first_of(const struct certs *certs, char *host)
{
	struct asking wanted = {.host = host, .balancer = (char[]){""}};
	struct asking *found =
		RB_NFIND(asking_tree, (struct asking_tree *)(uintptr_t)&certs->asking, &wanted);
	return found != NULL && strcmp(found->host, host) == 0 ? found : NULL;
}

bool certs_asking_has(const struct certs *certs, struct str host)
{
	if (RB_EMPTY(&certs->asking))
		return false;
	char *copy = str_dup(host);
	bool has = first_of(certs, copy) != NULL;
	free(copy);
	return has;
}

/* ---- which certificate ---- */

static struct cover *find_cover(const struct certs *certs, char *host)
{
	struct cover wanted = {.host = host};
	return RB_FIND(cover_host_tree, (struct cover_host_tree *)(uintptr_t)&certs->covers.hosts,
		&wanted);
}

static struct str covering_id(const struct certs *certs, const struct asking *asking)
{
	const struct cover *cover = find_cover(certs, asking->host);
	if (cover == NULL) {
		char *wildcard = xasprintf("*.%s", parent_of(asking->host));
		cover = find_cover(certs, wildcard);
		free(wildcard);
	}
	return cover != NULL ? str_from(cover->id) : certs->default_id;
}

static void name_file(const struct asking *asking, struct str id, struct pem_name *ret_name)
{
	char *text = xasprintf("asks\n%s", asking->host);
	struct name name = name_of(NAME_CERTIFICATE, str_from(text));
	free(text);
	snprintf(ret_name->text, sizeof(ret_name->text), "%s-%016llx.pem", name.text,
		(unsigned long long)name_digest(&id, 1));
}

static void drop_file(struct certs *certs, struct asking *asking)
{
	if (asking->file.text[0] != 0)
		certs->asking_ops->unwant(certs, asking->file.text);
	asking->file.text[0] = 0;
}

static void settle(struct certs *certs, struct asking *asking)
{
	struct arena arena;
	struct certificate value;
	struct pem_name file;
	struct str id = covering_id(certs, asking);
	arena_init(&arena);
	uint64_t digest = !str_is_empty(id) && certs_decode(certs, id, &arena, &value)
				  ? certs_digest(&value)
				  : 0;
	if (digest == 0) {
		drop_file(certs, asking);
	} else {
		name_file(asking, id, &file);
		certs->asking_ops->want(
			certs, file.text, &value, digest, xasprintf(" %s", asking->host), true);
		/* After the new one is wanted. */
		if (strcmp(asking->file.text, file.text) != 0)
			drop_file(certs, asking);
		asking->file = file;
	}
	arena_fini(&arena);
}

void certs_asking_settle(struct certs *certs)
{
	struct asking *asking;
	while ((asking = TAILQ_FIRST(&certs->stale)) != NULL) {
		TAILQ_REMOVE(&certs->stale, asking, link);
		asking->is_stale = false;
		settle(certs, asking);
	}
}

/* Those for which a certificate with this name may be the one. */
static void set_stale_for(struct certs *certs, char *host)
{
	bool is_wildcard = strncmp(host, "*.", 2) == 0;
	struct asking wanted = {.host = host, .balancer = (char[]){""}};
	struct asking *asking = RB_NFIND(asking_tree, &certs->asking, &wanted);
	/* An asterisk stands before all letters, so the host of a wildcard is the first of its parent. */
	for (; asking != NULL; asking = RB_NEXT(asking_tree, &certs->asking, asking)) {
		bool is_below = strcmp(parent_of(asking->host), parent_of(host)) == 0;
		if (is_wildcard ? !is_below : strcmp(asking->host, host) != 0)
			return;
		set_stale(certs, asking);
	}
}

/* ---- names of certificates ---- */

static void free_cover(struct certs *certs, struct cover *cover)
{
	RB_REMOVE(cover_host_tree, &certs->covers.hosts, cover);
	RB_REMOVE(cover_object_tree, &certs->covers.objects, cover);
	set_stale_for(certs, cover->host);
	free(cover->host);
	free(cover->id);
	free(cover);
}

void certs_asking_uncover(struct certs *certs, struct str id)
{
	struct cover wanted = {.host = (char[]){""}, .id = str_dup(id)};
	struct cover *cover;
	while ((cover = RB_NFIND(cover_object_tree, &certs->covers.objects, &wanted)) != NULL &&
		strcmp(cover->id, wanted.id) == 0)
		free_cover(certs, cover);
	free(wanted.id);
	if (str_eq(id, certs->default_id))
		certs_asking_default(certs);
}

void certs_asking_cover(struct certs *certs, struct str id, const struct str_list *hosts)
{
	certs_asking_uncover(certs, id);
	for (size_t i = 0; i < hosts->count; i++) {
		char *host = str_dup(hosts->items[i]);
		struct cover *old = find_cover(certs, host);
		if (old != NULL)
			free_cover(certs, old);
		struct cover *cover = xcalloc(1, sizeof(*cover));
		cover->host = host;
		cover->id = str_dup(id);
		RB_INSERT(cover_host_tree, &certs->covers.hosts, cover);
		RB_INSERT(cover_object_tree, &certs->covers.objects, cover);
		set_stale_for(certs, host);
	}
}

void certs_asking_default(struct certs *certs)
{
	struct asking *asking;
	RB_FOREACH (asking, asking_tree, &certs->asking)
		set_stale(certs, asking);
}

/* ---- files ---- */

/* The hosts that ask have files of their own. */
void certs_asking_leave_out(
	const struct certs *certs, struct certificate *value, struct arena *arena)
{
	struct str *hosts = arena_calloc(arena, value->hosts.count + 1, sizeof(*hosts));
	size_t count = 0;
	for (size_t i = 0; i < value->hosts.count; i++) {
		if (!certs_asking_has(certs, value->hosts.items[i]))
			hosts[count++] = value->hosts.items[i];
	}
	value->hosts.items = hosts;
	value->hosts.count = count;
}

void certs_set_authority(struct certs *certs, const char *path)
{
	certs->authority = xstrdup(path);
}

char *certs_options(const struct certs *certs, const struct cert *cert)
{
	return cert->asks ? xasprintf(" [verify optional ca-file %s no-ca-names]", certs->authority)
			  : xstrdup("");
}

/* ---- hosts ---- */

/* The files of the certificate of its name have its name no more, or again. */
static void settle_host(struct certs *certs, char *host)
{
	const struct cover *cover = find_cover(certs, host);
	struct object *object =
		cover != NULL ? state_find(certs->state, LB_CERTIFICATE, str_from(cover->id))
			      : NULL;
	if (object != NULL)
		certs->asking_ops->renew(certs, object);
	certs_asking_settle(certs);
}

static void free_asking(struct certs *certs, struct asking *asking)
{
	RB_REMOVE(asking_tree, &certs->asking, asking);
	if (asking->is_stale)
		TAILQ_REMOVE(&certs->stale, asking, link);
	free(asking->host);
	free(asking->balancer);
	free(asking);
}

/* To be freed. */
static struct asking parts_of(struct str key)
{
	const char *colon = str_find(key, ':');
	size_t len = colon != NULL ? (size_t)(colon - key.p) : 0;
	return (struct asking){
		.balancer = str_dup((struct str){key.p, len}),
		.host = str_dup(str_skip(key, len + 1)),
	};
}

const char *certs_asking_file(const struct certs *certs, struct str key)
{
	struct asking wanted = parts_of(key);
	const struct asking *found =
		RB_FIND(asking_tree, (struct asking_tree *)(uintptr_t)&certs->asking, &wanted);
	free(wanted.balancer);
	free(wanted.host);
	return found != NULL && found->file.text[0] != 0 ? found->file.text : NULL;
}

void certs_ask(struct certs *certs, struct str key, bool asks)
{
	struct asking wanted = parts_of(key);
	struct asking *found = RB_FIND(asking_tree, &certs->asking, &wanted);
	if (asks && found == NULL) {
		found = xmemdup(&wanted, sizeof(wanted));
		wanted.balancer = NULL;
		RB_INSERT(asking_tree, &certs->asking, found);
		set_stale(certs, found);
		settle_host(certs, found->host);
	} else if (!asks && found != NULL) {
		struct pem_name file = found->file;
		free_asking(certs, found);
		if (file.text[0] != 0 && first_of(certs, wanted.host) == NULL)
			certs->asking_ops->unwant(certs, file.text);
		settle_host(certs, wanted.host);
	}
	if (wanted.balancer != NULL)
		free(wanted.host);
	free(wanted.balancer);
}

/* ---- lifecycle ---- */

void certs_asking_init(struct certs *certs, const struct asking_ops *ops)
{
	certs->asking_ops = ops;
	RB_INIT(&certs->asking);
	RB_INIT(&certs->covers.hosts);
	RB_INIT(&certs->covers.objects);
	TAILQ_INIT(&certs->stale);
}

void certs_asking_fini(struct certs *certs)
{
	struct asking *asking;
	struct cover *cover;
	while ((asking = RB_ROOT(&certs->asking)) != NULL)
		free_asking(certs, asking);
	while ((cover = RB_ROOT(&certs->covers.hosts)) != NULL)
		free_cover(certs, cover);
}
