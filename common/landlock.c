// SPDX-License-Identifier: Apache-2.0
#include "common/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than Debian 12's headers: versions 3, 4, 5 and 6. */
enum {
	FS_TRUNCATE = 1 << 14,
	FS_IOCTL_DEV = 1 << 15,
	NET_BIND_TCP = 1 << 0,
	NET_CONNECT_TCP = 1 << 1,
	SCOPE_ABSTRACT = 1 << 0,
	SCOPE_SIGNAL = 1 << 1,
};

struct ruleset {
	uint64_t files;
	uint64_t net;    /* since version 4 */
	uint64_t scopes; /* since version 6 */
};

static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t write_rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
				     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
				     LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE;
static const uint64_t other_rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_BLOCK | FS_IOCTL_DEV;
/* The rights allowed in a rule for anything but a folder. */
static const uint64_t file_rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				    LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV;

static uint64_t known_rights(int version)
{
	uint64_t rights = read_rights | write_rights | other_rights;
	if (version < 3)
		rights &= ~(uint64_t)FS_TRUNCATE;
	if (version < 5)
		rights &= ~(uint64_t)FS_IOCTL_DEV;
	return rights;
}

int landlock_version(void)
{
	long version = syscall(
		SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
	return version >= LANDLOCK_VERSION_MIN ? (int)version : 0;
}

int landlock_open(int version, unsigned scopes)
{
	struct ruleset ruleset = {.files = known_rights(version)};
	size_t size = offsetof(struct ruleset, net);
	if (version >= 4) {
		ruleset.net = ((scopes & LANDLOCK_SCOPE_TCP_CONNECT) != 0 ? NET_CONNECT_TCP : 0) |
			      ((scopes & LANDLOCK_SCOPE_TCP_BIND) != 0 ? NET_BIND_TCP : 0);
		size = offsetof(struct ruleset, scopes);
	}
	if (version >= 6) {
		ruleset.scopes = ((scopes & LANDLOCK_SCOPE_ABSTRACT) != 0 ? SCOPE_ABSTRACT : 0) |
				 ((scopes & LANDLOCK_SCOPE_SIGNALS) != 0 ? SCOPE_SIGNAL : 0);
		size = sizeof(ruleset);
	}
	long fd = syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
	return fd < 0 ? -errno : (int)fd;
}

static uint64_t rights_of(enum landlock_access access)
{
	switch (access) {
	case LANDLOCK_READ:
		return read_rights;
	case LANDLOCK_EXECUTE:
		return read_rights | LANDLOCK_ACCESS_FS_EXECUTE;
	case LANDLOCK_WRITE:
		return read_rights | write_rights;
	case LANDLOCK_REMOVE:
		return LANDLOCK_ACCESS_FS_REMOVE_FILE;
	case LANDLOCK_REMOVE_FOLDERS:
		return LANDLOCK_ACCESS_FS_REMOVE_DIR;
	}
	return 0;
}

int landlock_allow(int ruleset, int version, const char *path, enum landlock_access access)
{
	struct stat info;
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights_of(access) & known_rights(version),
		.parent_fd = fd,
	};
	int err = fstat(fd, &info) == 0 ? 0 : -errno;
	if (err == 0 && !S_ISDIR(info.st_mode))
		rule.allowed_access &= file_rights;
	if (err == 0 &&
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
		err = -errno;
	close(fd);
	return err;
}

int landlock_enter(int ruleset)
{
	int err = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0 ? 0 : -errno;
	close(ruleset);
	return err;
}
