// SPDX-License-Identifier: Apache-2.0
#include "common/files.h"

#include "common/descriptors.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Suffix of files being written. */
static const char suffix[] = ".new~";

enum { COMPARE_LEN_MAX = 8 * 1024 * 1024, PIECE_LEN = 16 * 1024 };

static int make_one(const char *path, mode_t mode)
{
	struct stat st;
	if (mkdir(path, mode) == 0 || errno == EEXIST) {
		if (stat(path, &st) != 0)
			return -errno;
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	}
	return -errno;
}

int files_make_dir(const char *path, mode_t mode)
{
	char *copy = xstrdup(path);
	int err = 0;
	for (char *slash = strchr(copy + 1, '/'); err == 0 && slash != NULL;
		slash = strchr(slash + 1, '/')) {
		*slash = 0;
		err = make_one(copy, 0755);
		*slash = '/';
	}
	if (err == 0)
		err = make_one(copy, mode);
	struct stat st;
	if (err == 0 && stat(copy, &st) == 0 && (st.st_mode & 07777) != mode &&
		chmod(copy, mode) != 0)
		err = -errno;
	free(copy);
	return err;
}

static int write_all(int fd, struct str content)
{
	while (content.len != 0) {
		ssize_t done = write(fd, content.p, content.len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		content = str_skip(content, (size_t)done);
	}
	return 0;
}

int files_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int err = fd < 0 || fsync(fd) != 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

static int sync_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash != NULL ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	int err = files_sync(folder);
	free(folder);
	return err;
}

static bool stands_already(const char *path, struct str content, mode_t mode)
{
	struct stat st;
	struct buf old;
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		(st.st_mode & 07777) != mode || (uint64_t)st.st_size != content.len ||
		content.len > COMPARE_LEN_MAX)
		return false;
	buf_init(&old, COMPARE_LEN_MAX);
	bool is_equal = files_read(path, &old) == 0 && str_eq(buf_str(&old), content);
	buf_wipe_fini(&old);
	return is_equal;
}

static int write_new(const char *path, struct str content, mode_t mode, bool is_synced)
{
	char *temporary = xasprintf("%s%s", path, suffix);
	int err = 0;
	unlink(temporary);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0) {
		err = -errno;
	} else {
		err = write_all(fd, content);
		if (err == 0 && fchmod(fd, mode) != 0)
			err = -errno;
		if (err == 0 && is_synced && fsync(fd) != 0)
			err = -errno;
		if (close(fd) != 0 && err == 0)
			err = -errno;
		if (err == 0 && rename(temporary, path) != 0)
			err = -errno;
		if (err != 0)
			unlink(temporary);
	}
	free(temporary);
	if (err == 0 && is_synced)
		err = sync_folder_of(path);
	return err;
}

int files_write(const char *path, struct str content, mode_t mode)
{
	return stands_already(path, content, mode) ? 0 : write_new(path, content, mode, true);
}

int files_write_loose(const char *path, struct str content, mode_t mode)
{
	return stands_already(path, content, mode) ? 0 : write_new(path, content, mode, false);
}

int files_read_fd(int fd, struct buf *out)
{
	for (;;) {
		/* One more byte tells a file that fits exactly from one that is too long. */
		size_t free = out->max - buf_len(out);
		char more;
		uint8_t *room =
			free != 0 ? buf_reserve(out, free < PIECE_LEN ? free : PIECE_LEN) : NULL;
		ssize_t got = room != NULL ? read(fd, room, free < PIECE_LEN ? free : PIECE_LEN)
					   : read(fd, &more, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		if (room == NULL)
			return -EMSGSIZE;
		buf_commit(out, (size_t)got);
	}
}

int files_read(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int err = -errno;
		descriptors_check(err);
		return err;
	}
	int err = files_read_fd(fd, out);
	close(fd);
	return err;
}

const char *files_read_own(const char *path, struct buf *out)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return errno == ENOENT || errno == ENOTDIR ? "is missing" : "cannot be looked at";
	if (!S_ISREG(st.st_mode))
		return "is no file";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_size == 0)
		return "is empty";
	int err = files_read(path, out);
	return err == 0 ? NULL : err == -EMSGSIZE ? "is too long" : "cannot be read";
}

int files_remove(const char *path)
{
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

bool files_exist(const char *path)
{
	return access(path, F_OK) == 0;
}

int files_hold_folder(const char *path)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return folder >= 0 ? folder : -errno;
}

bool files_is_replaced(int folder, const char *path)
{
	struct stat held;
	struct stat now;
	return fstat(folder, &held) == 0 && stat(path, &now) == 0 &&
	       (held.st_ino != now.st_ino || held.st_dev != now.st_dev);
}

bool files_is_denied(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_denied = folder < 0 && errno == EACCES;
	if (folder >= 0)
		close(folder);
	return is_denied;
}

const char *files_problem(int err)
{
	switch (err < 0 ? -err : err) {
	case ENOSPC:
		return "the disk is full";
	case EDQUOT:
		return "the quota of the disk is used up";
	case EROFS:
		return "the disk is read-only";
	case EIO:
		return "the disk gives input/output errors";
	case EACCES:
	case EPERM:
		return "permission is denied";
	case ENOTDIR:
		return "something that is no folder is in the way";
	case ENOENT:
		return "the folder is gone";
	case EMFILE:
	case ENFILE:
		return "there are too many open files";
	default:
		return strerrordesc_np(err < 0 ? -err : err);
	}
}

size_t files_sweep(const char *dir, bool (*is_loose)(void *ctx, struct str name), void *ctx)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;
	size_t removed = 0;
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		if (is_loose(ctx, str_from(entry->d_name)) &&
			unlinkat(dirfd(folder), entry->d_name, 0) == 0)
			removed++;
	}
	if (folder != NULL)
		closedir(folder);
	return removed;
}

static bool ends_in(void *ctx, struct str name)
{
	return str_ends_with(name, str_from(ctx));
}

void files_clean(const char *dir)
{
	(void)files_sweep(dir, ends_in, (void *)(uintptr_t)suffix);
}

void files_remove_sockets(const char *dir)
{
	(void)files_sweep(dir, ends_in, (void *)(uintptr_t) ".sock");
}
