// SPDX-License-Identifier: Apache-2.0
/*
 * Landlock (kernel document userspace-api/landlock): a process gives up the files it does not name, and with newer kernels
 * TCP, signals to others and abstract sockets. Debian 12 has no library for it, and headers that are older than many kernels; so
 * the three system calls and their numbers stand here.
 *
 * Not covered by any version of it: connect(2) to a socket that has a name in the file system.
 */
#pragma once

#include <stdbool.h>

enum landlock_access {
	LANDLOCK_READ,           /* files and folders below */
	LANDLOCK_EXECUTE,        /* read, and start as programs */
	LANDLOCK_WRITE,          /* read, write, make, rename, remove */
	LANDLOCK_REMOVE,         /* remove files, and nothing else */
	LANDLOCK_REMOVE_FOLDERS, /* remove empty folders, and nothing else */
};

enum landlock_scope {
	LANDLOCK_SCOPE_TCP_CONNECT = 1, /* gives up TCP connections */
	LANDLOCK_SCOPE_TCP_BIND = 2,    /* gives up TCP listeners */
	LANDLOCK_SCOPE_ABSTRACT = 4,    /* gives up abstract sockets of others */
	LANDLOCK_SCOPE_SIGNALS = 8,     /* gives up signals to others */
};

/* Renames between folders need version 2 (Linux 5.19); an older one counts as none. */
enum { LANDLOCK_VERSION_MIN = 2 };

/* The version of the kernel, 0 for none. */
int landlock_version(void);
/* A descriptor, or a negative errno. `scopes`: of enum landlock_scope; what the kernel does not know is left out. */
int landlock_open(int version, unsigned scopes);
/* The path and all below it, as it is now: a folder that is made anew under the same name is another. 0 also when there is none. */
int landlock_allow(int ruleset, int version, const char *path, enum landlock_access access);
/* For this thread and those it starts; 0 or a negative errno. The process must have given up new privileges (PR_SET_NO_NEW_PRIVS).
 * The descriptor is closed. */
int landlock_enter(int ruleset);
