// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/supervisor.h"

#include "common/program.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *word(const char *text)
{
	return (char *)(uintptr_t)text;
}

char *supervisor_find(void)
{
	static const char *const places[] = {"sluice-proxy", "../provider-supervisor/sluice-proxy"};
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[len > 0 ? len : 0] = 0;
	char *slash = strrchr(self, '/');
	for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
		char *path = xasprintf("%.*s/%s", (int)(slash - self), self, places[i]);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return xstrdup("sluice-proxy");
}

pid_t supervisor_start(const struct proxy_config *config)
{
	bool is_file = config->access_log_to != NULL && config->access_log_to[0] == '/';
	char *const argv[] = {word(config->supervisor), word("--proxy"), word(config->kind),
		word("--program"), word(config->program), word("--state-dir"),
		word(config->state_dir), word("--proxy-dir"), word(config->proxy_dir),
		word("--admin-address"), word("off"), word("--admin-dir"), word(config->proxy_dir),
		word("--take-over"), word(config->take_over != NULL ? config->take_over : ""),
		word("--access-log-to"), word(is_file ? config->access_log_to : "stdout"), NULL};
	char *log_file = xasprintf("%s/supervisor.log", config->proxy_dir);
	char *log_before = xasprintf("%s.before", log_file);
	/* Why the one before has ended, if it died, is in there. */
	(void)rename(log_file, log_before);
	free(log_before);
	int log = open(log_file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0640);
	free(log_file);
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		/* Where its own output goes is in memory, and nobody takes it away. */
		program_become_with(argv, config->access_log_to != NULL ? STDOUT_FILENO : log, log,
			NULL, 0, NULL);
	}
	if (log >= 0)
		close(log);
	return pid;
}

struct supervisor_line supervisor_split(struct str text)
{
	struct supervisor_line line = {0};
	for (size_t i = 0; i < SUPERVISOR_FIELDS_MAX; i++) {
		bool is_last = i + 1 == SUPERVISOR_FIELDS_MAX;
		line.fields[i] = is_last ? text : str_cut(&text, '\t');
	}
	return line;
}

void supervisor_keep_words(struct supervisor_words *words, struct str told)
{
	told.len = told.len < SUPERVISOR_WORDS_LEN_MAX ? told.len : SUPERVISOR_WORDS_LEN_MAX;
	/* Why it died stands at the end. */
	words->last = told.len - str_last_lines(told, '\t', SUPERVISOR_LAST_LEN_MAX).len;
	str_put(words->text, told);
	words->text[told.len] = 0;
	for (char *c = words->text; *c != 0; c++)
		*c = *c == '\t' ? ' ' : *c;
}
