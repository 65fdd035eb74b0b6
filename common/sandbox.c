// SPDX-License-Identifier: Apache-2.0
#include "common/sandbox.h"

#include "common/landlock.h"
#include "common/xalloc.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATHS_MAX = 64 };

/* A sanitizer's runtime does what a process never does: at exit it traces its own threads to look for leaks. */
#if defined(__SANITIZE_ADDRESS__)
static const bool is_instrumented = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
static const bool is_instrumented = true;
#else
static const bool is_instrumented = false;
#endif
#else
static const bool is_instrumented = false;
#endif

struct path {
	char *name;
	enum landlock_access access;
};

struct sandbox {
	unsigned needs;
	bool has_all_files;
	size_t count;
	struct path paths[PATHS_MAX];
};

/* What the C library, OpenSSL and curl read to resolve names and find CAs. Folders, because resolv.conf and the like are replaced by
 * new files. */
static const char *const network_paths[] = {
	"/etc",
	"/usr/lib",
	"/usr/share/ca-certificates",
	"/usr/share/zoneinfo",
	"/usr/local/share/ca-certificates",
	"/lib",
	"/lib64",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/run/NetworkManager",
	"/dev/urandom",
	"/dev/null",
};

static const char *const program_paths[] = {
	"/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr", "/proc", "/sys/devices/system"};

struct sandbox *sandbox_new(unsigned needs)
{
	struct sandbox *sandbox = xcalloc(1, sizeof(*sandbox));
	sandbox->needs = needs;
	if ((needs & (SANDBOX_NETWORK | SANDBOX_WRITES)) != 0)
		sandbox->needs |= SANDBOX_FILES;
	if ((needs & SANDBOX_NETWORK) != 0) {
		for (size_t i = 0; i < sizeof(network_paths) / sizeof(network_paths[0]); i++)
			sandbox_allow_read(sandbox, network_paths[i]);
	}
	if ((needs & SANDBOX_PROGRAMS) != 0) {
		for (size_t i = 0; i < sizeof(program_paths) / sizeof(program_paths[0]); i++)
			sandbox_allow_execute(sandbox, program_paths[i]);
		sandbox_allow_write(sandbox, "/dev");
	}
	return sandbox;
}

static void sandbox_free(struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->count; i++)
		free(sandbox->paths[i].name);
	free(sandbox);
}

static void add_path(struct sandbox *sandbox, const char *name, enum landlock_access access)
{
	if (name == NULL || sandbox->count == PATHS_MAX)
		return;
	sandbox->paths[sandbox->count++] = (struct path){xstrdup(name), access};
}

void sandbox_allow_read(struct sandbox *sandbox, const char *path)
{
	add_path(sandbox, path, LANDLOCK_READ);
}

void sandbox_allow_execute(struct sandbox *sandbox, const char *path)
{
	add_path(sandbox, path, LANDLOCK_EXECUTE);
}

void sandbox_allow_write(struct sandbox *sandbox, const char *path)
{
	add_path(sandbox, path, LANDLOCK_WRITE);
}

static void add_beside(struct sandbox *sandbox, const char *file, enum landlock_access access)
{
	if (file == NULL)
		return;
	const char *slash = strrchr(file, '/');
	char *folder = slash == NULL   ? xstrdup(".")
		       : slash == file ? xstrdup("/")
				       : xstrndup(file, (size_t)(slash - file));
	add_path(sandbox, folder, access);
	free(folder);
}

void sandbox_allow_read_beside(struct sandbox *sandbox, const char *file)
{
	add_beside(sandbox, file, LANDLOCK_READ);
}

void sandbox_allow_remove_beside(struct sandbox *sandbox, const char *file)
{
	add_beside(sandbox, file, LANDLOCK_REMOVE);
}

void sandbox_allow_remove_folder(struct sandbox *sandbox, const char *folder)
{
	add_beside(sandbox, folder, LANDLOCK_REMOVE_FOLDERS);
}

void sandbox_allow_all_files(struct sandbox *sandbox)
{
	sandbox->has_all_files = true;
}

/* ---- files ---- */

static unsigned scopes_of(const struct sandbox *sandbox)
{
	const char *notify = getenv("NOTIFY_SOCKET");
	unsigned scopes = 0;
	/* A provider's proxy listens, and it may have to signal one that an earlier provider started. */
	if ((sandbox->needs & SANDBOX_PROGRAMS) == 0)
		scopes |= LANDLOCK_SCOPE_TCP_BIND | LANDLOCK_SCOPE_SIGNALS;
	if ((sandbox->needs & (SANDBOX_NETWORK | SANDBOX_PROGRAMS)) == 0)
		scopes |= LANDLOCK_SCOPE_TCP_CONNECT;
	if ((sandbox->needs & SANDBOX_PROGRAMS) == 0 && (notify == NULL || notify[0] != '@'))
		scopes |= LANDLOCK_SCOPE_ABSTRACT;
	return scopes;
}

static int confine_files(const struct sandbox *sandbox, int version)
{
	int fd = landlock_open(version, scopes_of(sandbox));
	int err = fd < 0 ? fd : 0;
	for (size_t i = 0; err == 0 && i < sandbox->count; i++)
		err = landlock_allow(fd, version, sandbox->paths[i].name, sandbox->paths[i].access);
	if (err == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		err = -errno;
	if (err == 0)
		return landlock_enter(fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* ---- system calls ---- */

static int allow(scmp_filter_ctx filter, int call, unsigned count, const struct scmp_arg_cmp *args)
{
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, count, args);
}

/* Writable memory is never executable. A process that resolves names loads modules of the C library. */
static int allow_memory(scmp_filter_ctx filter, bool with_modules)
{
	static const uint64_t rights[] = {0, PROT_WRITE, PROT_EXEC};
	const uint64_t mask = PROT_WRITE | PROT_EXEC;
	int err = 0;
	for (size_t i = 0; err == 0 && i < (with_modules ? 3 : 2); i++)
		err = allow(
			filter, SCMP_SYS(mmap), 1, &SCMP_A2(SCMP_CMP_MASKED_EQ, mask, rights[i]));
	if (err == 0)
		err = allow(
			filter, SCMP_SYS(mprotect), 1, &SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err;
}

static int allow_sockets(scmp_filter_ctx filter, unsigned needs)
{
	static const int network[] = {AF_INET, AF_INET6, AF_NETLINK};
	int err = 0;
	if ((needs & (SANDBOX_NEIGHBOURS | SANDBOX_NETWORK)) != 0)
		err = allow(filter, SCMP_SYS(socket), 1, &SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	for (size_t i = 0; err == 0 && (needs & SANDBOX_NETWORK) != 0 &&
			   i < sizeof(network) / sizeof(network[0]);
		i++)
		err = allow(filter, SCMP_SYS(socket), 1,
			&SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)network[i]));
	return err;
}

/* clone3(2) has its flags in memory, which no filter sees; without it the C library uses clone(2). */
static int allow_threads(scmp_filter_ctx filter)
{
	int err = allow(filter, SCMP_SYS(clone), 1,
		&SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

static int allow_own_affairs(scmp_filter_ctx filter)
{
	const scmp_datum_t self = (scmp_datum_t)getpid();
	int err = allow(filter, SCMP_SYS(tgkill), 1, &SCMP_A0(SCMP_CMP_EQ, self));
	if (err == 0) /* reads limits, sets none */
		err = allow(filter, SCMP_SYS(prlimit64), 1, &SCMP_A2(SCMP_CMP_EQ, 0));
	return err;
}

struct call {
	unsigned need; /* 0: always */
	int number;
};

enum { SANDBOX_ALWAYS = 0 };

static int fill_list(scmp_filter_ctx filter, unsigned needs)
{
	static const struct call calls[] = {
#define SANDBOX_CALL(need_, name) {SANDBOX_##need_, SCMP_SYS(name)},
#define SANDBOX_NEVER(name)
#define SANDBOX_NEVER_BUT(need_, name)
#include "common/sandbox_calls.def"
#undef SANDBOX_CALL
#undef SANDBOX_NEVER
#undef SANDBOX_NEVER_BUT
	};
	int err = 0;
	for (size_t i = 0; err == 0 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].need == 0 || (calls[i].need & needs) != 0)
			err = allow(filter, calls[i].number, 0, NULL);
	}
	if (err == 0)
		err = allow_memory(filter, (needs & SANDBOX_NETWORK) != 0);
	if (err == 0)
		err = allow_sockets(filter, needs);
	if (err == 0 && (needs & SANDBOX_NETWORK) != 0)
		err = allow_threads(filter);
	if (err == 0)
		err = allow_own_affairs(filter);
	return err;
}

static int fill_never(scmp_filter_ctx filter, unsigned needs)
{
	static const struct call calls[] = {
#define SANDBOX_CALL(need_, name)
#define SANDBOX_NEVER(name)            {SANDBOX_ALWAYS, SCMP_SYS(name)},
#define SANDBOX_NEVER_BUT(need_, name) {SANDBOX_##need_, SCMP_SYS(name)},
#include "common/sandbox_calls.def"
#undef SANDBOX_CALL
#undef SANDBOX_NEVER
#undef SANDBOX_NEVER_BUT
	};
	static const scmp_datum_t spaces[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS,
		CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET};
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	int err = 0;
	for (size_t i = 0; err == 0 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if ((calls[i].need & needs) == 0)
			err = seccomp_rule_add(filter, refuse, calls[i].number, 0);
	}
	for (size_t i = 0; err == 0 && i < sizeof(spaces) / sizeof(spaces[0]); i++)
		err = seccomp_rule_add(filter, refuse, SCMP_SYS(clone), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]));
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

static int confine_calls(const struct sandbox *sandbox)
{
	const bool starts_programs = (sandbox->needs & SANDBOX_PROGRAMS) != 0;
	scmp_filter_ctx filter =
		seccomp_init(starts_programs ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM));
	if (filter == NULL)
		return -ENOMEM;
	int err = starts_programs ? fill_never(filter, sandbox->needs)
				  : fill_list(filter, sandbox->needs);
	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* A binary tree instead of a chain, because every system call pays for it. */
	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* ---- entering ---- */

static const char *enter_files(const struct sandbox *sandbox, bool *ret_confined)
{
	int version = landlock_version();
	*ret_confined = false;
	if (sandbox->has_all_files) {
		*ret_confined = true;
		return "open for a program of your own";
	}
	if (version == 0)
		return "open: this kernel has no Landlock of version 2 or newer";
	int err = confine_files(sandbox, version);
	*ret_confined = err == 0;
	return err == 0 ? "confined" : strerror(-err);
}

static const char *enter_calls(const struct sandbox *sandbox, bool *ret_confined)
{
	int err = confine_calls(sandbox);
	*ret_confined = err == 0;
	return err == 0 ? "confined" : strerror(-err);
}

char *sandbox_enter(
	struct sandbox *sandbox, enum sandbox_mode mode, struct sandbox_outcome *ret_outcome)
{
	bool has_files = true;
	bool has_calls = true;
	char *problem = NULL;
	if (mode == SANDBOX_OFF) {
		*ret_outcome = (struct sandbox_outcome){"off", "off"};
	} else if (is_instrumented) {
		*ret_outcome = (struct sandbox_outcome){"off: instrumented", "off: instrumented"};
	} else {
		ret_outcome->files = enter_files(sandbox, &has_files);
		ret_outcome->calls = enter_calls(sandbox, &has_calls);
		if (mode == SANDBOX_REQUIRE && !(has_files && has_calls))
			problem = xasprintf("--sandbox require: files: %s; system calls: %s",
				ret_outcome->files, ret_outcome->calls);
	}
	sandbox_free(sandbox);
	return problem;
}

void sandbox_forbid_descriptors(void)
{
	/* Otherwise the filter would set no_new_privs, which voids a program's file capabilities. */
	if (is_instrumented || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	if (filter == NULL)
		return;
	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(pidfd_getfd), 0) == 0)
		(void)seccomp_load(filter);
	seccomp_release(filter);
}
