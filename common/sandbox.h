// SPDX-License-Identifier: Apache-2.0
/*
 * What a process gives up once it has read its configuration and opened its listeners, so that whoever compromises it gains little:
 * system calls (seccomp, through libseccomp) and files, TCP and signals (Landlock, where the kernel has it). Needs are named by
 * purpose; sandbox_calls.def lists the system calls for each.
 *
 * A system call that is not allowed fails with EPERM and is not fatal: a newer C library that tries something new falls back, and a
 * mistake in the table shows as an error in the log instead of a process that dies in a loop.
 *
 * Entered before the first thread is started: Landlock confines only the calling thread and its children.
 */
#pragma once

#include <stddef.h>

/* The order of the choices of --sandbox. */
enum sandbox_mode {
	SANDBOX_AUTO,    /* as much as the kernel can */
	SANDBOX_REQUIRE, /* all of it, or the process does not start */
	SANDBOX_OFF,
};

enum sandbox_need {
	SANDBOX_NEIGHBOURS = 1 << 0, /* connects to Unix sockets */
	SANDBOX_FILES = 1 << 1,      /* opens the files that were allowed, and reads */
	SANDBOX_NETWORK =
		1
		<< 2, /* connects by TCP, asks for names (with threads, and files of the system) */
	SANDBOX_PROGRAMS =
		1
		<< 3, /* starts programs, which inherit the sandbox: all but what no server ever needs */
	SANDBOX_DESCRIPTORS =
		1 << 4, /* a program that it starts takes descriptors of its own children */
	SANDBOX_WRITES = 1 << 5, /* makes files in the folders that were allowed */
};

struct sandbox;

/* `needs`: of enum sandbox_need. */
struct sandbox *sandbox_new(unsigned needs);
/* The path is copied; NULL and what does not exist are skipped. */
void sandbox_allow_read(struct sandbox *sandbox, const char *path);
/* For SANDBOX_PROGRAMS: programs and what belongs to them. */
void sandbox_allow_execute(struct sandbox *sandbox, const char *path);
void sandbox_allow_write(struct sandbox *sandbox, const char *path);
/* The folder a file stands in, so that it may be replaced by another of its name. */
void sandbox_allow_read_beside(struct sandbox *sandbox, const char *file);
/* Files of the folder that one stands in may be removed, such as a socket of ours at the end. */
void sandbox_allow_remove_beside(struct sandbox *sandbox, const char *file);
/* Empty folders in the one that `folder` stands in may be removed, such as itself. */
void sandbox_allow_remove_folder(struct sandbox *sandbox, const char *folder);
/* Files are not confined: what is to be started is not known, such as a plugin of a person's own. */
void sandbox_allow_all_files(struct sandbox *sandbox);

struct sandbox_outcome {
	const char *calls; /* "confined", or why not */
	const char *files;
};

/* Frees the sandbox. NULL, or with SANDBOX_REQUIRE what is wrong (allocated). */
char *sandbox_enter(
	struct sandbox *sandbox, enum sandbox_mode mode, struct sandbox_outcome *ret_outcome);

/* In a forked child, before it becomes another program: it takes no descriptors of other processes, though we may (SANDBOX_DESCRIPTORS). Where nothing
 * is confined, this is not either. */
void sandbox_forbid_descriptors(void);
