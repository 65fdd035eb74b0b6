// SPDX-License-Identifier: Apache-2.0
/* Manifests through the whole line: whatever somebody writes, it is read or refused, and every provider renders what is left. */
#include "common/must.h"
#include "sluicectl/line.h"

#include <stdlib.h>

static void on_object(void *ctx, const struct json *object, const struct manifest_place *place)
{
	line_put(ctx, object, place);
}

static void on_file(void *ctx, const char *name, struct str content)
{
	size_t *files = ctx;
	must(name[0] != '/' && (content.len == 0 || content.p != NULL));
	(*files)++;
}

static void run(const char *provider, struct str text)
{
	const struct line_finding *findings;
	char *problem = NULL;
	size_t files = 0;
	struct line *line = line_new(line_provider(provider), NULL, 0, false, &problem);
	must(line != NULL);
	struct manifest_options options = {
		.namespace = "default", .on_object = on_object, .ctx = line};
	free(manifest_read_text(text, "fuzz", &options));
	line_run(line);
	free(line_render(line, on_file, &files));
	size_t count = line_findings(line, &findings);
	for (size_t i = 0; i < count; i++)
		must(findings[i].reason.len != 0 && findings[i].message.len != 0);
	line_free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const providers[] = {"haproxy", "nginx", "rancher"};
	struct str text = {(const char *)data, len};
	run(providers[len % 3], text);
	return 0;
}
