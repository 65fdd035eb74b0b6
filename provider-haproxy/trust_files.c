// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/trust_files.h"

#include "common/xalloc.h"
#include "common/files.h"

#include <stdio.h>

static int compare_files(const struct trust_file *a, const struct trust_file *b)
{
	return strcmp(a->name.text, b->name.text);
}

RB_GENERATE_LOCAL(trust_tree, trust_file, node, compare_files)

void trust_files_show(struct trust_files *files,
	void (*on_file)(void *ctx, const char *name, struct str content), void *ctx)
{
	struct trust_file *file;
	RB_FOREACH (file, trust_tree, &files->tree) {
		char *name = xasprintf("%s.pem", file->name.text);
		if (file->content != NULL)
			on_file(ctx, name, str_from(file->content));
		free(name);
	}
}

char *trust_files_path(const struct trust_files *files, const struct name *name)
{
	return xasprintf("%s/%s.pem", files->dir, name->text);
}

static struct trust_file *find(struct trust_files *files, const struct name *name)
{
	struct trust_file wanted = {.name = *name};
	return name->text[0] != 0 ? RB_FIND(trust_tree, &files->tree, &wanted) : NULL;
}

static void forget_content(struct trust_file *file)
{
	if (file->content != NULL)
		explicit_bzero(file->content, strlen(file->content));
	free(file->content);
	file->content = NULL;
}

void trust_file_free(struct trust_file *file)
{
	forget_content(file);
	free(file);
}

/* ---- users ---- */

static void fill(struct trust_file *file, const struct pool_tls *tls,
	int content(const struct pool_tls *tls, struct buf *out))
{
	struct buf text;
	buf_init(&text, TRUST_CONTENT_LEN_MAX);
	/* It fits, because it has a name. */
	file->content = content(tls, &text) == 0 ? str_dup(buf_str(&text)) : xstrdup("");
	buf_wipe_fini(&text);
}

static void use(struct trust_files *files, const struct name *name, const struct pool_tls *tls,
	int content(const struct pool_tls *tls, struct buf *out))
{
	struct trust_file *file = find(files, name);
	if (name->text[0] == 0)
		return;
	if (file != NULL) {
		if (file->users++ == 0)
			TAILQ_REMOVE(&files->unused, file, link);
		return;
	}
	file = xcalloc(1, sizeof(*file));
	file->name = *name;
	file->users = 1;
	fill(file, tls, content);
	RB_INSERT(trust_tree, &files->tree, file);
	TAILQ_INSERT_TAIL(&files->unwritten, file, link);
}

static void drop(struct trust_files *files, const struct name *name)
{
	struct trust_file *file = find(files, name);
	if (file == NULL || --file->users != 0)
		return;
	if (file->content == NULL) {
		TAILQ_INSERT_TAIL(&files->unused, file, link);
		return;
	}
	TAILQ_REMOVE(&files->unwritten, file, link);
	RB_REMOVE(trust_tree, &files->tree, file);
	trust_file_free(file);
}

void trust_files_use(
	struct trust_files *files, const struct trust *trust, const struct pool_tls *tls)
{
	use(files, &trust->ca, tls, trust_ca_content);
	use(files, &trust->client, tls, trust_client_content);
}

void trust_files_drop(struct trust_files *files, const struct trust *trust)
{
	drop(files, &trust->ca);
	drop(files, &trust->client);
}

/* ---- the disk ---- */

int trust_files_write(struct trust_files *files)
{
	struct trust_file *file;
	while ((file = TAILQ_FIRST(&files->unwritten)) != NULL) {
		char *path = trust_files_path(files, &file->name);
		int err = files_write(path, str_from(file->content), 0600);
		free(path);
		if (err != 0)
			return err;
		forget_content(file);
		TAILQ_REMOVE(&files->unwritten, file, link);
	}
	return 0;
}

void trust_files_refill(
	struct trust_files *files, const struct name *name, const struct pool_tls *tls)
{
	struct trust_file *file = find(files, name);
	if (file == NULL || file->users == 0 || file->content != NULL)
		return;
	fill(file, tls, name->text[0] == NAME_AUTHORITY ? trust_ca_content : trust_client_content);
	TAILQ_INSERT_TAIL(&files->unwritten, file, link);
}

bool trust_files_are_written(struct trust_files *files, const struct trust *trust)
{
	const struct trust_file *ca = find(files, &trust->ca);
	const struct trust_file *client = find(files, &trust->client);
	return (ca == NULL || ca->content == NULL) && (client == NULL || client->content == NULL);
}

void trust_files_sweep(struct trust_files *files, long worker)
{
	struct trust_file *file;
	while ((file = TAILQ_FIRST(&files->unused)) != NULL) {
		char *path = trust_files_path(files, &file->name);
		/* If it cannot be removed, it does no harm; the next start removes it. */
		(void)files_remove(path);
		free(path);
		TAILQ_REMOVE(&files->unused, file, link);
		RB_REMOVE(trust_tree, &files->tree, file);
		if (file->worker != 0 && file->worker == worker)
			TAILQ_INSERT_TAIL(&files->loose, file, link);
		else
			trust_file_free(file);
	}
}

static bool is_left(void *ctx, struct str file)
{
	struct name name;
	return trust_read_file_name(file, &name) && find(ctx, &name) == NULL;
}

void trust_files_forget_others(struct trust_files *files)
{
	(void)files_sweep(files->dir, is_left, files);
}

/* ---- files that HAProxy has loaded ---- */

bool trust_files_is_unknown(struct trust_files *files, const struct name *name, long worker)
{
	const struct trust_file *file = find(files, name);
	return file != NULL && file->worker != worker;
}

void trust_files_known(struct trust_files *files, const struct trust *trust, long worker)
{
	struct trust_file *both[] = {find(files, &trust->ca), find(files, &trust->client)};
	for (size_t i = 0; i < 2; i++) {
		if (both[i] != NULL)
			both[i]->worker = worker;
	}
}

struct trust_file *trust_files_take_loose(struct trust_files *files)
{
	struct trust_file *file = TAILQ_FIRST(&files->loose);
	if (file != NULL)
		TAILQ_REMOVE(&files->loose, file, link);
	return file;
}

/* ---- lifecycle ---- */

void trust_files_init(struct trust_files *files, const char *dir)
{
	*files = (struct trust_files){.dir = xstrdup(dir)};
	RB_INIT(&files->tree);
	TAILQ_INIT(&files->unwritten);
	TAILQ_INIT(&files->unused);
	TAILQ_INIT(&files->loose);
}

void trust_files_fini(struct trust_files *files)
{
	struct trust_file *file;
	while ((file = trust_files_take_loose(files)) != NULL)
		trust_file_free(file);
	while ((file = RB_ROOT(&files->tree)) != NULL) {
		RB_REMOVE(trust_tree, &files->tree, file);
		trust_file_free(file);
	}
	free(files->dir);
}
