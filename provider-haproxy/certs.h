// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates: files, the list of them that HAProxy starts from (certs/list.txt), and what the running HAProxy has. One file for each group of
 * server names of a certificate object (pem.h), and default.pem.
 *
 * While HAProxy runs it is asked first, because it is stricter about keys than we are, and a file that it refuses would keep it from
 * starting: command, then file, then list. Before a start the files come first, and are checked with the whole configuration.
 */
#pragma once

#include "common/tree.h"
#include "provider-common/state.h"
#include "provider-haproxy/certs_asking.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/pem.h"

#include <bsd/sys/queue.h>

/* In the folder: the other files, and the names for which they are shown. */
#define CERTS_LIST "list.txt"

enum { CERTS_LIST_LEN_MAX = 256 * 1024 * 1024 };

struct cert {
	RB_ENTRY(cert) node;
	TAILQ_ENTRY(cert) dirty;
	struct pem_name file;
	char *id;        /* of the object */
	char *hosts;     /* as in the list: each with a space before it */
	char *owner;     /* namespace/name of the Secret, for messages */
	uint64_t wanted; /* digests of the content; 0: none */
	uint64_t filed;
	uint64_t has; /* 1: something */
	uint64_t refused;
	bool is_listed;  /* HAProxy shows it */
	bool asks;       /* clients are asked for a certificate of theirs, too */
	bool is_awaited; /* listed for the next reload */
	bool is_dirty;
};

RB_HEAD(cert_tree, cert);
TAILQ_HEAD(cert_list, cert);

struct certs {
	struct state *state;
	struct notices *notices;
	char *dir;
	char *authority; /* a file with an authority that has signed nothing; see lua_off.h */
	struct cert_tree tree;
	struct cert_list dirty;
	bool is_offline; /* the folder is not looked at */
	bool is_list_changed;
	bool is_running;           /* HAProxy runs: only what it has accepted gets into the list */
	bool is_default_filed;     /* the list on disk has default.pem */
	struct str default_id;     /* of the object that default.pem is made of */
	struct asking_tree asking; /* see certs_asking.h; so are the next three */
	struct cover_tree covers;
	struct asking_list stale;
	const struct asking_ops *asking_ops;
};

void certs_init(struct certs *certs, struct state *state, struct notices *notices, const char *dir);
/* Begins with what is asked for, which is there before the certificates. Copies the path. */
void certs_set_authority(struct certs *certs, const char *path);
/* For rendering only: no file is read, and none may be written. */
void certs_init_offline(
	struct certs *certs, struct state *state, struct notices *notices, const char *dir);
/* Hands over every file that certs_write_all() would write, by its name in the folder, the list last. */
void certs_show(struct certs *certs,
	void (*on_file)(void *ctx, const char *name, struct str content), void *ctx);
void certs_fini(struct certs *certs);

/* The object was added or changed, or is removed. Takes its user pointer. */
void certs_on_change(struct certs *certs, struct object *object, bool is_removed);
/* Id of the default certificate; absent: none. */
void certs_set_default(struct certs *certs, struct str id);
/* The list on disk has one. */
bool certs_has_default(const struct certs *certs);

/* 0: it is not PEM. */
uint64_t certs_digest(const struct certificate *value);
bool certs_decode(
	const struct certs *certs, struct str id, struct arena *arena, struct certificate *ret);
/* Options between the file and the names of its line. To be freed. */
char *certs_options(const struct certs *certs, const struct cert *cert);

struct cert *certs_first_dirty(struct certs *certs);
/* The PEM text that is wanted; -EBADMSG when it is not PEM. Wipe it. */
int certs_content(struct certs *certs, const struct cert *cert, struct buf *out);
/* Marks it as dirty or clean; frees it when it is neither wanted nor in HAProxy. */
void certs_settle(struct certs *certs, struct cert *cert);
/* HAProxy refuses the content that is wanted. */
void certs_refuse(struct certs *certs, struct cert *cert, const char *why);
/* `key` as for certs_ask(): HAProxy does not ask for it yet, and is going to. */
bool certs_is_ask_pending(struct certs *certs, struct str key);
struct cert *certs_find(struct certs *certs, struct str file_name);
/* HAProxy lists this file; adds it if it was not known. */
void certs_found(struct certs *certs, struct str file_name, bool is_fresh);
void certs_forget_has(struct certs *certs);

/* Writes the file of a certificate. */
int certs_write_file(struct certs *certs, struct cert *cert);
/* Whether HAProxy runs: the list is made for it. */
void certs_begin(struct certs *certs, bool is_running);
/* Writes what must be on disk before HAProxy is started. */
int certs_write_all(struct certs *certs);
/* Writes the list if it has changed, then removes files that it no longer names. */
int certs_write_list(struct certs *certs);
/* Writes a list of the default certificate alone, for a start before it is known what is wanted. */
int certs_write_default_list(struct certs *certs);
/*
 * Checks the list and all files that it names; calls on_damage() with what is wrong, and replaces what is damaged: from what is wanted (`is_known`),
 * else by something that HAProxy can start with.
 */
typedef void certs_damaged(void *ctx, const char *path, const char *problem);
int certs_repair(struct certs *certs, bool is_known, certs_damaged *on_damage, void *ctx);
char *certs_path(const struct certs *certs, const char *file_name);
/* Refuses the certificates whose files a failed check of the configuration names; false when there are none. */
bool certs_leave_out(struct certs *certs, struct str output);
