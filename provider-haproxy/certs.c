// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/certs.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/checksum.h"
#include "common/files.h"

#include <errno.h>
#include <stdio.h>

static const char topic[] = "certificate";
static const char default_file[] = "default.pem";
/* A host that nobody asks for (RFC 2606): as the first entry of the list it is served when no other matches. */
static const char default_hosts[] = " sluice-default.invalid";

enum { HAS_SOMETHING = 1 };

static int compare_certs(const struct cert *a, const struct cert *b)
{
	return strcmp(a->file.text, b->file.text);
}

RB_GENERATE_LOCAL(cert_tree, cert, node, compare_certs)

/* The files of one object. */
struct cert_object {
	struct pem_name *files;
	size_t count;
};

char *certs_path(const struct certs *certs, const char *file_name)
{
	return xasprintf("%s/%s", certs->dir, file_name);
}

struct cert *certs_find(struct certs *certs, struct str file_name)
{
	struct cert wanted;
	if (file_name.len >= sizeof(wanted.file.text))
		return NULL;
	str_put(wanted.file.text, file_name);
	wanted.file.text[file_name.len] = 0;
	return RB_FIND(cert_tree, &certs->tree, &wanted);
}

/* 0: the file is missing or damaged. */
static uint64_t digest_of_file(const struct certs *certs, const char *file_name)
{
	struct buf content;
	uint64_t digest = 0;
	char *path = certs_path(certs, file_name);
	buf_init(&content, PEM_LEN_MAX + 64 * 1024);
	if (checksum_read(path, &content) == NULL) {
		struct str text = buf_str(&content);
		digest = name_digest(&text, 1);
	}
	buf_wipe_fini(&content);
	free(path);
	return digest;
}

static struct cert *find_or_add(struct certs *certs, const char *file_name)
{
	struct cert *cert = certs_find(certs, str_from(file_name));
	if (cert != NULL)
		return cert;
	cert = xcalloc(1, sizeof(*cert));
	snprintf(cert->file.text, sizeof(cert->file.text), "%s", file_name);
	cert->filed = certs->is_offline ? 0 : digest_of_file(certs, file_name);
	RB_INSERT(cert_tree, &certs->tree, cert);
	return cert;
}

static void free_cert(struct certs *certs, struct cert *cert)
{
	RB_REMOVE(cert_tree, &certs->tree, cert);
	if (cert->is_dirty)
		TAILQ_REMOVE(&certs->dirty, cert, dirty);
	free(cert->id);
	free(cert->hosts);
	free(cert->owner);
	free(cert);
}

void certs_settle(struct certs *certs, struct cert *cert)
{
	bool is_refused = cert->refused != 0 && cert->refused == cert->wanted;
	bool differs = cert->wanted != 0
			       ? !is_refused && (cert->has != cert->wanted || !cert->is_listed ||
							cert->filed != cert->wanted)
			       : cert->has != 0 || cert->is_listed;
	if (differs && !cert->is_dirty)
		TAILQ_INSERT_TAIL(&certs->dirty, cert, dirty);
	else if (!differs && cert->is_dirty)
		TAILQ_REMOVE(&certs->dirty, cert, dirty);
	cert->is_dirty = differs;
	if (!differs && cert->wanted == 0)
		free_cert(certs, cert);
}

struct cert *certs_first_dirty(struct certs *certs)
{
	return TAILQ_FIRST(&certs->dirty);
}

/* ---- what is wanted ---- */

static char *hosts_text(const struct certificate *value, size_t first)
{
	struct buf text;
	buf_init(&text, PEM_HOSTS_MAX * (CHECK_HOST_LEN_MAX + 4));
	for (size_t i = first; i < value->hosts.count && i < first + PEM_HOSTS_MAX; i++) {
		struct str host = value->hosts.items[i];
		if (!check_host(host) && !check_wildcard(host))
			continue;
		if (buf_append(&text, " ", 1) != 0 || buf_append_str(&text, host) != 0)
			break;
	}
	char *copy = str_dup(buf_str(&text));
	buf_fini(&text);
	return copy;
}

/* Takes `hosts`. `digest`: of the content. */
static void want(struct certs *certs, const char *file_name, const struct certificate *value,
	uint64_t digest, char *hosts, bool asks)
{
	struct cert *cert = find_or_add(certs, file_name);
	free(cert->id);
	free(cert->hosts);
	free(cert->owner);
	cert->id = str_dup(value->key.id);
	cert->hosts = hosts;
	cert->asks = asks;
	cert->owner = xasprintf("%.*s/%.*s", STR_FMT(value->namespace), STR_FMT(value->name));
	if (cert->wanted != digest)
		certs->is_list_changed = true;
	cert->wanted = digest;
	if (cert->refused != digest)
		notices_clear(certs->notices, topic, str_from(file_name));
	certs_settle(certs, cert);
}

static void unwant(struct certs *certs, const char *file_name)
{
	struct cert *cert = certs_find(certs, str_from(file_name));
	if (cert == NULL)
		return;
	notices_clear(certs->notices, topic, str_from(file_name));
	cert->wanted = 0;
	certs->is_list_changed = true;
	certs_settle(certs, cert);
}

static bool has_file(const struct cert_object *object, const char *file_name)
{
	for (size_t i = 0; object != NULL && i < object->count; i++) {
		if (strcmp(object->files[i].text, file_name) == 0)
			return true;
	}
	return false;
}

static void free_object(struct cert_object *object)
{
	if (object != NULL)
		free(object->files);
	free(object);
}

static struct cert_object *want_all(struct certs *certs, const struct certificate *value)
{
	size_t groups = (value->hosts.count + PEM_HOSTS_MAX - 1) / PEM_HOSTS_MAX;
	struct cert_object *new = xcalloc(1, sizeof(*new));
	uint64_t digest = certs_digest(value);
	new->files = xcalloc(groups + 1, sizeof(*new->files));
	for (size_t i = 0; i < groups && digest != 0; i++) {
		struct pem_name file = pem_name_of(value, i * PEM_HOSTS_MAX);
		char *hosts = hosts_text(value, i * PEM_HOSTS_MAX);
		/* Without a host name HAProxy would serve it for the names inside the certificate. */
		if (hosts[0] == 0) {
			free(hosts);
			continue;
		}
		new->files[new->count++] = file;
		want(certs, file.text, value, digest, hosts, false);
	}
	if (str_eq(value->key.id, certs->default_id) && digest != 0)
		want(certs, default_file, value, digest, xstrdup(default_hosts), false);
	return new;
}

void certs_on_change(struct certs *certs, struct object *object, bool is_removed)
{
	struct cert_object *old = object_user(object);
	struct cert_object *new = NULL;
	struct certificate value;
	struct arena arena;
	arena_init(&arena);
	if (!is_removed) {
		state_decode(certs->state, object, &arena, &value);
		certs_asking_cover(certs, value.key.id, &value.hosts);
		certs_asking_leave_out(certs, &value, &arena);
		new = want_all(certs, &value);
	} else if (str_eq(object_id(object), certs->default_id)) {
		unwant(certs, default_file);
	}
	for (size_t i = 0; old != NULL && i < old->count; i++) {
		if (!has_file(new, old->files[i].text))
			unwant(certs, old->files[i].text);
	}
	object_set_user(object, new);
	free_object(old);
	if (is_removed)
		certs_asking_uncover(certs, object_id(object));
	certs_asking_settle(certs);
	arena_fini(&arena);
}

void certs_set_default(struct certs *certs, struct str id)
{
	struct arena arena;
	struct certificate value;
	if (str_eq(id, certs->default_id))
		return;
	free((char *)(uintptr_t)certs->default_id.p);
	certs->default_id = str_is_empty(id) ? STR_NONE : (struct str){str_dup(id), id.len};
	arena_init(&arena);
	uint64_t digest = 0;
	if (!str_is_empty(id) && certs_decode(certs, id, &arena, &value))
		digest = certs_digest(&value);
	if (digest != 0)
		want(certs, default_file, &value, digest, xstrdup(default_hosts), false);
	else
		unwant(certs, default_file);
	certs_asking_default(certs);
	certs_asking_settle(certs);
	arena_fini(&arena);
}

void certs_refuse(struct certs *certs, struct cert *cert, const char *why)
{
	char *message =
		xasprintf("HAProxy refuses the certificate of Secret %s: %.400s", cert->owner, why);
	struct notice_owner owner = notice_of_certificate(str_from(cert->id));
	cert->refused = cert->wanted;
	certs->is_list_changed = true;
	/* A file that is no longer wanted is not reported. */
	if (cert->wanted != 0)
		notices_set(certs->notices, topic, str_from(cert->file.text), &owner,
			"CertificateRefused", str_from(message));
	free(message);
	certs_settle(certs, cert);
}

/* ---- certificates that HAProxy has ---- */

void certs_found(struct certs *certs, struct str file_name, bool is_fresh)
{
	char *name = str_dup(file_name);
	if (file_name.len <= PEM_NAME_LEN) {
		struct cert *cert = find_or_add(certs, name);
		cert->is_listed = true;
		cert->is_awaited = false;
		cert->has = is_fresh && cert->filed != 0 ? cert->filed : HAS_SOMETHING;
		certs_settle(certs, cert);
	}
	free(name);
}

void certs_forget_has(struct certs *certs)
{
	struct cert *cert;
	struct cert *next;
	RB_FOREACH_SAFE (cert, cert_tree, &certs->tree, next) {
		cert->has = 0;
		cert->is_listed = false;
		certs_settle(certs, cert);
	}
}

/* ---- files ---- */

int certs_write_file(struct certs *certs, struct cert *cert)
{
	struct buf content;
	char *path = certs_path(certs, cert->file.text);
	buf_init(&content, PEM_LEN_MAX);
	int err = certs_content(certs, cert, &content);
	if (err == 0)
		err = checksum_write(path, buf_str(&content), 0600);
	if (err == 0) {
		struct str text = buf_str(&content);
		cert->filed = name_digest(&text, 1);
		certs->is_list_changed = true;
	}
	buf_wipe_fini(&content);
	free(path);
	return err;
}

int certs_write_all(struct certs *certs)
{
	struct cert *cert;
	RB_FOREACH (cert, cert_tree, &certs->tree) {
		if (cert->wanted == 0 || cert->wanted == cert->filed ||
			cert->wanted == cert->refused)
			continue;
		int err = certs_write_file(certs, cert);
		if (err != 0)
			return err;
	}
	return certs_write_list(certs);
}

static bool may_be_listed(const struct certs *certs, const struct cert *cert)
{
	/* After a refused renewal the file still has the old content. */
	if (cert->filed == 0 || cert->filed == cert->refused)
		return false;
	return cert->wanted != 0 && (!certs->is_running || cert->is_listed);
}

bool certs_has_default(const struct certs *certs)
{
	return certs->is_default_filed;
}

static int add_line(const struct certs *certs, const struct cert *cert, struct buf *out)
{
	char *options = certs_options(certs, cert);
	int err = buf_printf(out, "%s/%s%s%s\n", certs->dir, cert->file.text, options, cert->hosts);
	free(options);
	return err;
}

static int render_list(const struct certs *certs, struct buf *out)
{
	int err = 0;
	const struct cert *first =
		certs_find((struct certs *)(uintptr_t)certs, str_from(default_file));
	struct cert *cert;
	if (first != NULL && may_be_listed(certs, first))
		err = add_line(certs, first, out);
	RB_FOREACH (cert, cert_tree, (struct cert_tree *)(uintptr_t)&certs->tree) {
		if (err == 0 && cert != first && may_be_listed(certs, cert))
			err = add_line(certs, cert, out);
	}
	return err != 0 ? err : checksum_append(out, 0);
}

static bool is_left(void *ctx, struct str file_name)
{
	return pem_is_file_name(file_name) && certs_find(ctx, file_name) == NULL;
}

int certs_write_list(struct certs *certs)
{
	struct buf content;
	if (!certs->is_list_changed)
		return 0;
	char *path = certs_path(certs, CERTS_LIST);
	buf_init(&content, CERTS_LIST_LEN_MAX);
	int err = render_list(certs, &content);
	if (err == 0)
		err = files_write(path, buf_str(&content), 0600);
	if (err == 0) {
		const struct cert *first = certs_find(certs, str_from(default_file));
		certs->is_list_changed = false;
		certs->is_default_filed = first != NULL && may_be_listed(certs, first);
		(void)files_sweep(certs->dir, is_left, certs);
	}
	buf_fini(&content);
	free(path);
	return err;
}

void certs_begin(struct certs *certs, bool is_running)
{
	if (certs->is_running != is_running)
		certs->is_list_changed = true;
	certs->is_running = is_running;
}

int certs_write_default_list(struct certs *certs)
{
	char *text = xasprintf("%s/%s%s\n", certs->dir, default_file, default_hosts);
	char *path = certs_path(certs, CERTS_LIST);
	int err = checksum_write(path, str_from(text), 0600);
	certs->is_default_filed = certs->is_default_filed || err == 0;
	free(path);
	free(text);
	return err;
}

bool certs_leave_out(struct certs *certs, struct str output)
{
	bool any = false;
	struct cert *cert;
	struct cert *next;
	RB_FOREACH_SAFE (cert, cert_tree, &certs->tree, next) {
		if (cert->wanted == 0 || cert->refused == cert->wanted ||
			memmem(output.p, output.len, cert->file.text, strlen(cert->file.text)) ==
				NULL)
			continue;
		certs_refuse(certs, cert, "it is not accepted by `haproxy -c`");
		any = true;
	}
	return any;
}

bool certs_is_ask_pending(struct certs *certs, struct str key)
{
	const char *file = certs_asking_file(certs, key);
	const struct cert *cert = file != NULL ? certs_find(certs, str_from(file)) : NULL;
	return cert != NULL && cert->wanted != 0 && cert->refused != cert->wanted &&
	       (!cert->is_listed || cert->is_awaited);
}

/* ---- lifecycle ---- */

static void renew(struct certs *certs, struct object *object)
{
	certs_on_change(certs, object, false);
}

static const struct asking_ops asking_ops = {want, unwant, renew};

void certs_init(struct certs *certs, struct state *state, struct notices *notices, const char *dir)
{
	*certs = (struct certs){
		.state = state, .notices = notices, .dir = xstrdup(dir), .is_list_changed = true};
	RB_INIT(&certs->tree);
	TAILQ_INIT(&certs->dirty);
	certs_asking_init(certs, &asking_ops);
	struct buf list;
	char *path = certs_path(certs, CERTS_LIST);
	buf_init(&list, CERTS_LIST_LEN_MAX);
	if (checksum_read(path, &list) == NULL)
		certs->is_default_filed = memmem(buf_data(&list), buf_len(&list), default_file,
						  sizeof(default_file) - 1) != NULL;
	buf_fini(&list);
	free(path);
}

void certs_init_offline(
	struct certs *certs, struct state *state, struct notices *notices, const char *dir)
{
	*certs = (struct certs){
		.state = state, .notices = notices, .dir = xstrdup(dir), .is_offline = true};
	RB_INIT(&certs->tree);
	TAILQ_INIT(&certs->dirty);
	certs_asking_init(certs, &asking_ops);
}

void certs_show(struct certs *certs,
	void (*on_file)(void *ctx, const char *name, struct str content), void *ctx)
{
	struct cert *cert;
	struct buf content;
	buf_init(&content, CERTS_LIST_LEN_MAX);
	RB_FOREACH (cert, cert_tree, &certs->tree) {
		if (cert->wanted != 0 && certs_content(certs, cert, &content) == 0) {
			must(checksum_append(&content, 0) == 0);
			on_file(ctx, cert->file.text, buf_str(&content));
			cert->filed = cert->wanted;
		}
		buf_wipe_fini(&content);
	}
	const struct cert *first = certs_find(certs, str_from(default_file));
	certs->is_default_filed = first != NULL && may_be_listed(certs, first);
	if (render_list(certs, &content) == 0)
		on_file(ctx, CERTS_LIST, buf_str(&content));
	buf_fini(&content);
}

void certs_fini(struct certs *certs)
{
	struct cert *cert;
	struct object *object = state_first(certs->state, LB_CERTIFICATE);
	for (; object != NULL; object = state_next(certs->state, object)) {
		free_object(object_user(object));
		object_set_user(object, NULL);
	}
	while ((cert = RB_ROOT(&certs->tree)) != NULL)
		free_cert(certs, cert);
	certs_asking_fini(certs);
	free(certs->dir);
	free(certs->authority);
	free((char *)(uintptr_t)certs->default_id.p);
}
