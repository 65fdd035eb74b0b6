// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest.h"

#include "common/files.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "watcher/yamltext.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- server-side defaults ---- */

static struct json *editable(const struct json *value)
{
	return (struct json *)(uintptr_t)value;
}

static struct str text_of(const struct json *object, const char *name)
{
	struct str text = STR_NONE;
	(void)json_get_str(object, name, &text);
	return text;
}

static void set_str(struct json *object, const char *name, struct str text)
{
	struct json *room = json_new_object();
	json_add_str(room, name, text);
	json_set_copy(object, name, json_get(room, name));
	json_free_wiped(room);
}

/* 64 bits of SHA-256, with the length before each text, so that concatenations cannot collide. */
static uint64_t digest_of(const struct str *texts, size_t count)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	uint64_t result = 0;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	must(context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t len = texts[i].p != NULL ? texts[i].len : UINT64_MAX;
		must(EVP_DigestUpdate(context, &len, sizeof(len)) == 1);
		must(EVP_DigestUpdate(context, texts[i].p, texts[i].len) == 1);
	}
	must(EVP_DigestFinal_ex(context, digest, NULL) == 1);
	EVP_MD_CTX_free(context);
	for (size_t i = 0; i < 8; i++)
		result = result << 8 | digest[i];
	return result;
}

/* Equal objects get equal uids, so that the same manifests always give the same output. */
static void add_uid(struct json *metadata, struct str kind)
{
	char uid[40];
	struct str parts[3] = {kind, text_of(metadata, "namespace"), text_of(metadata, "name")};
	uint64_t first = digest_of(parts, 3);
	struct str again[2] = {STR("uid"), {(const char *)&first, sizeof(first)}};
	uint64_t second = digest_of(again, 2);
	snprintf(uid, sizeof(uid),
		"%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, first >> 32,
		first >> 16 & 0xffff, first & 0xffff, second >> 48, second & 0xffffffffffff);
	set_str(metadata, "uid", str_from(uid));
}

static bool has_namespace(struct str kind)
{
	return !str_eq_c(kind, "IngressClass") && !str_eq_c(kind, "Namespace");
}

static void complete_metadata(struct json *object, struct str kind, const char *namespace)
{
	struct json *metadata = editable(json_get(object, "metadata"));
	if (!json_is_object(metadata))
		return;
	if (has_namespace(kind) && text_of(metadata, "namespace").len == 0)
		set_str(metadata, "namespace", str_from(namespace));
	if (text_of(metadata, "uid").len == 0)
		add_uid(metadata, kind);
}

/* The default of targetPort is `port` (Kubernetes API reference, ServicePort). */
static void complete_service(struct json *object)
{
	const struct json *port = json_first(json_path(object, "spec", "ports", NULL));
	for (; port != NULL; port = json_next(port)) {
		if (json_is_object(port) && json_is_absent(json_get(port, "targetPort")) &&
			json_get(port, "port") != NULL)
			json_set_copy(editable(port), "targetPort", json_get(port, "port"));
	}
}

/* stringData overwrites data, and the default of type is Opaque (Kubernetes API reference, Secret). */
static void complete_secret(struct json *object)
{
	const struct json *item = json_first(json_get(object, "stringData"));
	struct json *data = editable(json_get(object, "data"));
	if (text_of(object, "type").len == 0)
		set_str(object, "type", STR("Opaque"));
	if (item == NULL)
		return;
	if (!json_is_object(data))
		data = json_add_object(object, "data");
	for (; item != NULL; item = json_next(item)) {
		struct str plain = json_text(item);
		size_t len = 4 * (plain.len / 3 + 1) + 1;
		char *encoded = xmalloc(len);
		char *name = str_dup(json_name(item));
		int done = EVP_EncodeBlock((unsigned char *)encoded,
			(const unsigned char *)(plain.p != NULL ? plain.p : ""), (int)plain.len);
		set_str(data, name, (struct str){encoded, (size_t)done});
		explicit_bzero(encoded, len);
		free(encoded);
		free(name);
	}
}

/* ---- documents ---- */

static void take_object(const struct json *object, const struct manifest_place *place,
	const struct manifest_options *options)
{
	struct str kind = text_of(object, "kind");
	complete_metadata(editable(object), kind, options->namespace);
	if (str_eq_c(kind, "Service"))
		complete_service(editable(object));
	else if (str_eq_c(kind, "Secret"))
		complete_secret(editable(object));
	options->on_object(options->ctx, object, place);
}

/* Elements of a list as `kubectl get -o yaml` and the API server write it; those of a typed list have no kind of their own. */
static void take_list(const struct json *list, const struct yaml_document *document,
	const char *name, const struct manifest_options *options)
{
	struct str kind = text_of(list, "kind");
	struct str version = text_of(list, "apiVersion");
	const struct json *item = json_first(json_get(list, "items"));
	for (size_t i = 0; item != NULL; item = json_next(item), i++) {
		struct manifest_place place = {
			name, i < document->item_count ? document->item_lines[i] : 0};
		if (!json_is_object(item))
			continue;
		if (text_of(item, "kind").len == 0 && kind.len > 4) {
			set_str(editable(item), "kind", (struct str){kind.p, kind.len - 4});
			set_str(editable(item), "apiVersion", version);
		}
		take_object(item, &place, options);
	}
}

/* In folders that kubectl does not read as manifests either. */
static const char *likely_cause(const struct json *document)
{
	bool is_kustomization = json_is_array(json_get(document, "resources")) ||
				json_is_array(json_get(document, "components"));
	return is_kustomization ? ": a kustomization, of which `kubectl kustomize` makes manifests"
				: "";
}

static char *take_document(const struct yaml_document *document, const char *name,
	const struct manifest_options *options)
{
	const char *problem = NULL;
	struct json *json = json_parse_strict(buf_str(&document->json), &problem, NULL);
	struct manifest_place place = {name, document->line};
	if (json == NULL)
		return xasprintf("%s: line %u: %s", name, document->line, problem);
	bool is_list = str_ends_with(text_of(json, "kind"), STR("List")) &&
		       json_is_array(json_get(json, "items"));
	char *wrong = NULL;
	if (is_list)
		take_list(json, document, name, options);
	else if (text_of(json, "kind").len != 0 && text_of(json, "apiVersion").len != 0)
		take_object(json, &place, options);
	else
		wrong = xasprintf("%s: line %u: this is no Kubernetes object: it needs apiVersion "
				  "and kind%s",
			name, document->line, likely_cause(json));
	json_free_wiped(json);
	return wrong;
}

char *manifest_read_text(struct str text, const char *name, const struct manifest_options *options)
{
	struct yaml_reader *reader = yaml_reader_new(text);
	const struct yaml_document *document = NULL;
	char *problem = NULL;
	char *wrong = NULL;
	while (wrong == NULL && yaml_next(reader, &document, &problem))
		wrong = take_document(document, name, options);
	if (problem != NULL)
		wrong = xasprintf("%s: %s", name, problem);
	free(problem);
	yaml_reader_free(reader);
	return wrong;
}

char *manifest_read_file(int fd, const char *name, const struct manifest_options *options)
{
	char *problem = NULL;
	struct buf text;
	buf_init(&text, YAML_TEXT_MAX);
	int err = files_read_fd(fd, &text);
	if (err != 0)
		problem = xasprintf("%s: %s", name,
			err == -EMSGSIZE ? "the file is longer than 256 MB"
					 : strerrordesc_np(-err));
	else
		problem = manifest_read_text(buf_str(&text), name, options);
	buf_wipe_fini(&text);
	return problem;
}
