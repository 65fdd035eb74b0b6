// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/pid_file.h"

#include "common/files.h"
#include "common/xalloc.h"

enum { PID_FILE_LEN_MAX = 32 * 1024 };

struct pid_file pid_file_read(const char *path)
{
	struct pid_file found = {0};
	struct buf content;
	buf_init(&content, PID_FILE_LEN_MAX);
	if (files_read(path, &content) == 0 && buf_append(&content, "", 1) == 0) {
		char *end;
		long pid = strtol(buf_str(&content).p, &end, 10);
		unsigned long long started = *end == ' ' ? strtoull(end + 1, &end, 10) : 0;
		if (pid > 1 && pid <= INT32_MAX && started != 0)
			found = (struct pid_file){
				(pid_t)pid, started, strcmp(end, " ending\n") == 0};
	}
	buf_fini(&content);
	return found;
}

void pid_file_write(const char *path, const struct pid_file *content)
{
	char *text = xasprintf("%d %llu%s\n", (int)content->pid,
		(unsigned long long)content->started, content->is_ending ? " ending" : "");
	(void)files_write_loose(path, str_from(text), 0644);
	free(text);
}
