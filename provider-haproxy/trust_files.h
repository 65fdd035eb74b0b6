// SPDX-License-Identifier: Apache-2.0
/*
 * The files with CAs and client certificates for backends, in the folder `trust`: who needs them, whether they are on the disk, and which
 * HAProxy knows them. A file is written before a server names it, and goes when no file of slots names it any more.
 */
#pragma once

#include "common/tree.h"
#include "provider-proxy/trust.h"

#include <bsd/sys/queue.h>

struct trust_file {
	RB_ENTRY(trust_file) node;
	TAILQ_ENTRY(trust_file) link; /* of those that are not written, or not needed */
	struct name name;             /* of its content: `a...` a CA, `i...` a client certificate */
	size_t users;
	char *content; /* until it is written */
	long worker;   /* of the HAProxy that was told it last; 0: none */
};

RB_HEAD(trust_tree, trust_file);
TAILQ_HEAD(trust_list, trust_file);

struct trust_files {
	char *dir;
	struct trust_tree tree;
	struct trust_list unwritten;
	struct trust_list unused; /* they wait for the files that name them to be written */
	struct trust_list loose;  /* not in the tree: HAProxy may forget them */
};

void trust_files_init(struct trust_files *files, const char *dir);
void trust_files_fini(struct trust_files *files);

/* One user more or less of what the trust names. */
void trust_files_use(
	struct trust_files *files, const struct trust *trust, const struct pool_tls *tls);
void trust_files_drop(struct trust_files *files, const struct trust *trust);

/* Those that are needed and not written, by their names in the folder. */
void trust_files_show(struct trust_files *files,
	void (*on_file)(void *ctx, const char *name, struct str content), void *ctx);
/* Writes what is needed and not there; 0 or a negative errno. */
int trust_files_write(struct trust_files *files);
/* Its file is not as it should be: the next trust_files_write() writes it anew, with the content that `tls` has. */
void trust_files_refill(
	struct trust_files *files, const struct name *name, const struct pool_tls *tls);
bool trust_files_are_written(struct trust_files *files, const struct trust *trust);
/* Removes what nobody needs, once no other file names it; what HAProxy with that pid knows of it becomes loose. */
void trust_files_sweep(struct trust_files *files, long worker);
/* Removes files of an earlier run that nobody needs now. */
void trust_files_forget_others(struct trust_files *files);

/* Whether HAProxy with that pid has to be told; false when there is no such name. */
bool trust_files_is_unknown(struct trust_files *files, const struct name *name, long worker);
void trust_files_known(struct trust_files *files, const struct trust *trust, long worker);
/* The caller's, for trust_file_free(); NULL: none. */
struct trust_file *trust_files_take_loose(struct trust_files *files);
void trust_file_free(struct trust_file *file);

/* To be freed by the caller. */
char *trust_files_path(const struct trust_files *files, const struct name *name);
