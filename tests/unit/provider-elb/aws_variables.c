// SPDX-License-Identifier: Apache-2.0
#include "aws_variables.h"

#include "common/files.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <unistd.h>

enum { VARIABLES_MAX = 16, LINE_LEN = 512 };

static char lines[VARIABLES_MAX][LINE_LEN];
static size_t count;

static const char *get(const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < count; i++) {
		if (strncmp(lines[i], name, len) == 0 && lines[i][len] == '=')
			return lines[i] + len + 1;
	}
	return NULL;
}

static const struct aws_environment environment = {get};

void set_variable(const char *name, const char *value)
{
	must(count < VARIABLES_MAX);
	snprintf(lines[count++], LINE_LEN, "%s=%s", name, value);
}

const struct aws_environment *variables(const char *const *list)
{
	count = 0;
	for (; list != NULL && *list != NULL; list++) {
		must(count < VARIABLES_MAX);
		snprintf(lines[count++], LINE_LEN, "%s", *list);
	}
	return &environment;
}

void rewrite_file(const char *path, const char *content)
{
	must(files_write_loose(path, str_from(content), 0600) == 0);
}

char *write_file(const char *name, const char *content)
{
	char folder[] = "/tmp/sluice-elb-XXXXXX";
	must(mkdtemp(folder) != NULL);
	char *path = xasprintf("%s/%s", folder, name);
	rewrite_file(path, content);
	return path;
}

void remove_file(char *path)
{
	unlink(path);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	rmdir(path);
	free(path);
}
