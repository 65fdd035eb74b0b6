// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/journal.h"

#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROWTH_MIN = 4 * 1024 * 1024 };

struct journal {
	char *path;
	char *new_path;
	int fd;     /* of the file, for appending; -1: none */
	int new_fd; /* of the new file; -1: none */
	uint64_t size;
	uint64_t new_size;
	uint64_t whole_size; /* size of the file when it was last rewritten */
	uint64_t serial;
	dev_t device; /* of the file, by which a removed or replaced one is known */
	ino_t inode;
	bool is_behind;
	bool is_unsynced;
	const char *problem;
};

struct journal *journal_new(const char *path)
{
	struct journal *journal = xcalloc(1, sizeof(*journal));
	journal->path = xstrdup(path);
	journal->new_path = xasprintf("%s.new", path);
	journal->fd = -1;
	journal->new_fd = -1;
	return journal;
}

static void drop_new(struct journal *journal)
{
	if (journal->new_fd < 0)
		return;
	close(journal->new_fd);
	journal->new_fd = -1;
	unlink(journal->new_path);
}

void journal_free(struct journal *journal)
{
	if (journal == NULL)
		return;
	drop_new(journal);
	(void)journal_sync(journal);
	if (journal->fd >= 0)
		close(journal->fd);
	free(journal->path);
	free(journal->new_path);
	free(journal);
}

/* Returns how many bytes of the text are complete batches of one state. */
static size_t read_batches(struct journal *journal, struct str text,
	void (*on_row)(void *ctx, const struct batch_row *row), void *ctx)
{
	size_t good = 0;
	struct batch_head head;
	struct batch_row row;
	struct str rows;
	size_t len = 0;
	while (batch_read(str_skip(text, good), &head, &rows, &len) == 0) {
		if ((head.flags & BATCH_FIRST) == 0 && head.base != journal->serial)
			break;
		while (batch_next(&rows, &row))
			on_row(ctx, &row);
		journal->serial = head.serial;
		good += len;
		if ((head.flags & BATCH_LAST) != 0)
			journal->whole_size = good;
	}
	return good;
}

/* A file of another user is not trusted; and a missing or empty one is reported. */
static const char *look_at(const char *path)
{
	struct stat status;
	if (lstat(path, &status) != 0)
		return errno == ENOENT ? "is missing" : NULL;
	if (!S_ISREG(status.st_mode))
		return "is no file";
	if (status.st_uid != geteuid())
		return "belongs to another user";
	return status.st_size == 0 ? "is empty" : NULL;
}

const char *journal_problem(const struct journal *journal)
{
	return journal->problem;
}

int journal_read(
	struct journal *journal, void (*on_row)(void *ctx, const struct batch_row *row), void *ctx)
{
	struct stat status;
	journal->problem = look_at(journal->path);
	if (journal->problem != NULL) {
		(void)unlink(journal->path);
		return 0;
	}
	int fd = open(journal->path, O_RDWR | O_CLOEXEC | O_APPEND);
	bool can_write = fd >= 0;
	if (fd < 0 && (errno == EROFS || errno == EACCES || errno == EPERM))
		fd = open(journal->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &status) != 0) {
		int err = errno;
		close(fd);
		return -err;
	}
	journal->device = status.st_dev;
	journal->inode = status.st_ino;
	size_t size = (size_t)status.st_size;
	void *text = size != 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (text == MAP_FAILED) {
		int err = errno;
		close(fd);
		return -err;
	}
	size_t good = read_batches(journal, (struct str){text, size}, on_row, ctx);
	if (text != NULL)
		munmap(text, size);
	journal->size = good;
	if (good != size)
		journal->problem = "is not as it was written";
	if (!can_write || (good != size && ftruncate(fd, (off_t)good) != 0)) {
		journal->is_behind = true;
		close(fd);
		return 0;
	}
	journal->fd = fd;
	return 0;
}

uint64_t journal_serial(const struct journal *journal)
{
	return journal->serial;
}

uint64_t journal_size(const struct journal *journal)
{
	return journal->size;
}

static int write_all(int fd, struct str text)
{
	while (text.len != 0) {
		ssize_t len = write(fd, text.p, text.len);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		text = str_skip(text, (size_t)len);
	}
	return 0;
}

int journal_append(struct journal *journal, struct str batch, uint64_t serial)
{
	if (journal->fd < 0 || journal->is_behind)
		return -EBADF;
	int err = write_all(journal->fd, batch);
	if (err != 0) {
		/* If this fails too, nginx stops reading at the incomplete batch, and so do we. */
		if (ftruncate(journal->fd, (off_t)journal->size) != 0) {
			close(journal->fd);
			journal->fd = -1;
		}
		journal->is_behind = true;
		return err;
	}
	journal->is_unsynced = true;
	journal->size += batch.len;
	journal->serial = serial;
	return 0;
}

int journal_sync(struct journal *journal)
{
	if (!journal->is_unsynced || journal->fd < 0)
		return 0;
	journal->is_unsynced = false;
	if (fdatasync(journal->fd) == 0)
		return 0;
	/* What of it has reached the disk is unknown, and asking again would not tell. */
	journal->is_behind = true;
	return -errno;
}

/* Nobody would read what is appended to a removed file. */
static bool is_there(const struct journal *journal)
{
	struct stat named;
	return stat(journal->path, &named) == 0 && named.st_ino == journal->inode &&
	       named.st_dev == journal->device;
}

bool journal_wants_rewrite(const struct journal *journal)
{
	return journal->fd < 0 || journal->is_behind || !is_there(journal) ||
	       journal->size > 2 * journal->whole_size + GROWTH_MIN;
}

bool journal_is_behind(const struct journal *journal)
{
	return journal->is_behind;
}

/* ---- a new file ---- */

int journal_rewrite_begin(struct journal *journal)
{
	drop_new(journal);
	int fd = open(journal->new_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		journal->is_behind = true;
		return -errno;
	}
	journal->new_fd = fd;
	journal->new_size = 0;
	return 0;
}

static int fail_new(struct journal *journal, int err)
{
	drop_new(journal);
	journal->is_behind = true;
	return err;
}

int journal_rewrite_add(struct journal *journal, struct str batch)
{
	int err = write_all(journal->new_fd, batch);
	if (err != 0)
		return fail_new(journal, err);
	journal->new_size += batch.len;
	return 0;
}

static int sync_folder(const char *path)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 || fsync(fd) != 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

int journal_rewrite_end(struct journal *journal, uint64_t serial)
{
	struct stat status;
	if (fsync(journal->new_fd) != 0 || fstat(journal->new_fd, &status) != 0 ||
		rename(journal->new_path, journal->path) != 0)
		return fail_new(journal, -errno);
	if (journal->fd >= 0)
		close(journal->fd);
	journal->device = status.st_dev;
	journal->inode = status.st_ino;
	journal->is_unsynced = false;
	journal->fd = journal->new_fd;
	journal->new_fd = -1;
	journal->size = journal->new_size;
	journal->whole_size = journal->new_size;
	journal->serial = serial;
	int err = sync_folder(journal->path);
	journal->is_behind = err != 0;
	return err;
}
