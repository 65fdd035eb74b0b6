// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest_inputs.h"

#include "common/str.h"
#include "common/xalloc.h"
#include "proto/frame_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct input {
	int fd;
	char *name;
};

struct manifest_inputs {
	struct input *items;
	size_t count;
	size_t capacity;
};

/* The usual limit of 1,024 is for programs that use select(2). */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct manifest_inputs *manifest_inputs_new(void)
{
	raise_file_limit();
	return xcalloc(1, sizeof(struct manifest_inputs));
}

void manifest_inputs_free(struct manifest_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++) {
		frame_stream_close(inputs->items[i].fd);
		free(inputs->items[i].name);
	}
	free(inputs->items);
	free(inputs);
}

static void add(struct manifest_inputs *inputs, int fd, char *name)
{
	if (inputs->count == inputs->capacity) {
		inputs->capacity = inputs->capacity != 0 ? 2 * inputs->capacity : 16;
		inputs->items =
			xreallocarray(inputs->items, inputs->capacity, sizeof(*inputs->items));
	}
	inputs->items[inputs->count++] = (struct input){fd, name};
}

static char *open_problem(const char *name, int err)
{
	if (err == EMFILE)
		return xasprintf(
			"%s: too many files: join some, or raise the limit of open files", name);
	return xasprintf("%s: %s", name, strerrordesc_np(err));
}

/* ---- folders ---- */

static int is_manifest(const struct dirent *entry)
{
	struct str name = str_from(entry->d_name);
	return name.p[0] != '.' &&
	       (str_ends_with(name, STR(".json")) || str_ends_with(name, STR(".yaml")) ||
		       str_ends_with(name, STR(".yml")));
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* A folder may be called web.yaml, and a pipe, which would have to be waited for. */
static bool is_file(int folder, const char *name)
{
	struct stat stat;
	return fstatat(folder, name, &stat, 0) != 0 || S_ISREG(stat.st_mode);
}

static char *open_entry(
	struct manifest_inputs *inputs, int folder, const char *path, const char *entry)
{
	const char *slash = str_ends_with(str_from(path), STR("/")) ? "" : "/";
	char *name = xasprintf("%s%s%s", path, slash, entry);
	int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		add(inputs, fd, name);
		return NULL;
	}
	char *problem = open_problem(name, errno);
	free(name);
	return problem;
}

static char *open_folder(struct manifest_inputs *inputs, int folder, const char *path)
{
	struct dirent **entries = NULL;
	size_t before = inputs->count;
	char *problem = NULL;
	int count = scandirat(folder, ".", &entries, is_manifest, compare_names);
	if (count < 0)
		return open_problem(path, errno);
	for (int i = 0; i < count; i++) {
		if (problem == NULL && is_file(folder, entries[i]->d_name))
			problem = open_entry(inputs, folder, path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (problem == NULL && inputs->count == before)
		problem =
			xasprintf("%s: no file in this folder ends in .json, .yaml or .yml", path);
	return problem;
}

/* ---- the whole ---- */

char *manifest_inputs_open(struct manifest_inputs *inputs, const char *path)
{
	struct stat stat;
	int fd = frame_stream_open_input(path);
	if (fd < 0)
		return open_problem(path, -fd);
	if (fd == STDIN_FILENO || fstat(fd, &stat) != 0 || !S_ISDIR(stat.st_mode)) {
		add(inputs, fd, xstrdup(path));
		return NULL;
	}
	char *problem = open_folder(inputs, fd, path);
	close(fd);
	return problem;
}

size_t manifest_inputs_count(const struct manifest_inputs *inputs)
{
	return inputs->count;
}

int manifest_inputs_descriptor(const struct manifest_inputs *inputs, size_t index)
{
	return inputs->items[index].fd;
}

const char *manifest_inputs_name(const struct manifest_inputs *inputs, size_t index)
{
	return inputs->items[index].name;
}
