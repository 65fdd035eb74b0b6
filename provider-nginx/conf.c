// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/conf.h"

#include "common/ascii.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdio.h>

static int by_name(const void *left, const void *right)
{
	const struct conf_pool *a = left;
	const struct conf_pool *b = right;
	return strcmp(a->name.text, b->name.text);
}

static int by_load_balancer(const void *left, const void *right)
{
	const struct conf_pass *a = left;
	const struct conf_pass *b = right;
	int order = strcmp(a->load_balancer.text, b->load_balancer.text);
	return order != 0 ? order : str_cmp(a->host, b->host);
}

void conf_sort(struct conf *conf)
{
	size_t kept = 0;
	if (conf->pass_count != 0)
		qsort(conf->passes, conf->pass_count, sizeof(*conf->passes), by_load_balancer);
	if (conf->pool_count != 0)
		qsort(conf->pools, conf->pool_count, sizeof(*conf->pools), by_name);
	for (size_t i = 0; i < conf->pool_count; i++) {
		if (i == 0 || by_name(&conf->pools[kept - 1], &conf->pools[i]) != 0)
			conf->pools[kept++] = conf->pools[i];
	}
	conf->pool_count = kept;
}

struct conf_pool *conf_find_pool(const struct conf *conf, const struct name *name)
{
	struct conf_pool wanted = {.name = *name};
	if (conf->pool_count == 0)
		return NULL;
	return bsearch(&wanted, conf->pools, conf->pool_count, sizeof(wanted), by_name);
}

struct str conf_target(const struct conf *conf, const struct name *pool)
{
	const struct conf_pool *found = pool != NULL ? conf_find_pool(conf, pool) : NULL;
	return found != NULL && found->peer_count != 0 ? str_from(found->name.text)
						       : STR("sluice_none");
}

/* The first that is not before the load balancer, or is behind it. */
static size_t bound_of(const struct conf *conf, const struct name *load_balancer, bool is_behind)
{
	size_t first = 0;
	size_t end = conf->pass_count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		int order = strcmp(conf->passes[middle].load_balancer.text, load_balancer->text);
		if (order < 0 || (order == 0 && is_behind))
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

size_t conf_find_passes(
	const struct conf *conf, const struct name *load_balancer, size_t *ret_count)
{
	size_t first = bound_of(conf, load_balancer, false);
	*ret_count = bound_of(conf, load_balancer, true) - first;
	return first;
}

size_t conf_piece_count(const struct conf *conf)
{
	return conf->ports->count + conf->pass_count;
}

bool conf_piece_is_owned(const struct conf *conf, size_t piece)
{
	return piece >= conf->ports->count || !str_is_empty(conf->ports->items[piece].service);
}

int64_t conf_connections(const struct conf_options *options)
{
	return options->open_files / 4 * 3;
}

int64_t conf_idle(const struct conf_options *options, int64_t share)
{
	int64_t count = conf_connections(options) / share / CONF_SHARDS;
	return count > 1 ? count : 1;
}

unsigned conf_families(const struct port *port)
{
	unsigned families = 0;
	for (size_t i = 0; i < port->bind_count; i++)
		families |= port->binds[i].family == AF_INET6 ? CONF_IPV6 : CONF_IPV4;
	return families;
}

bool conf_is_split(const struct conf *conf, uint16_t port)
{
	bool is_found = false;
	for (size_t i = 0; i < conf->split_count && !is_found; i++)
		is_found = conf->split[i] == port;
	return is_found;
}

bool conf_check_path(struct str path)
{
	if (path.len == 0 || path.len > 512 || path.p[0] != '/')
		return false;
	return ascii_is_made_of(path, "/._-+@");
}

char *conf_control_path(const struct conf_options *options)
{
	return xasprintf(
		"%.*s/control/control-%c.sock", STR_FMT(options->proxy_dir), options->control);
}

struct str conf_read_control(struct str file)
{
	static const char mark[] = "\t\tlisten \"unix:";
	static const char folder[] = "/control/";
	struct str rest = file;
	const char *at;
	while (rest.len != 0 && (at = memmem(rest.p, rest.len, mark, sizeof(mark) - 1)) != NULL) {
		rest = str_skip(rest, (size_t)(at - rest.p) + sizeof(mark) - 1);
		const char *end = str_find(rest, '"');
		size_t len = end != NULL ? (size_t)(end - rest.p) : 0;
		if (len != 0 && memmem(rest.p, len, folder, sizeof(folder) - 1) != NULL)
			return (struct str){rest.p, len};
	}
	return STR("");
}

static const char trusts_mark[] = "\n# trusts";

struct str conf_read_trusts(struct str file)
{
	size_t len = sizeof(trusts_mark) - 1;
	const char *at = file.len != 0 ? memmem(file.p, file.len, trusts_mark, len) : NULL;
	return at != NULL ? str_skip(file, (size_t)(at - file.p) + len) : STR("");
}

/* Each has a line of its own, for nginx takes no longer ones; former versions had all of them in one. */
bool conf_next_trust(struct str *rest, struct name *ret_name, struct str *ret_terms)
{
	size_t len = 1;
	if (str_starts_with(*rest, str_from(trusts_mark)))
		*rest = str_skip(*rest, sizeof(trusts_mark) - 1);
	if (rest->len == 0 || rest->p[0] != ' ')
		return false;
	while (len < rest->len && rest->p[len] != ' ' && rest->p[len] != '\n')
		len++;
	struct str word = {rest->p + 1, len - 1};
	const char *colon = str_find(word, ':');
	*ret_terms = colon != NULL ? str_skip(word, (size_t)(colon - word.p) + 1) : STR("");
	word.len = colon != NULL ? (size_t)(colon - word.p) : word.len;
	if (word.len > NAME_LEN)
		return false;
	*ret_name = (struct name){0};
	memcpy(ret_name->text, word.p, word.len);
	*rest = str_skip(*rest, len);
	return true;
}

unsigned conf_read_reloads(struct str file)
{
	static const char mark[] = "\n# reloads ";
	const char *at = file.len != 0 ? memmem(file.p, file.len, mark, sizeof(mark) - 1) : NULL;
	int64_t count = 0;
	if (at == NULL)
		return 0;
	struct str rest = str_skip(file, (size_t)(at - file.p) + sizeof(mark) - 1);
	const char *end = str_find(rest, '\n');
	rest.len = end != NULL ? (size_t)(end - rest.p) : 0;
	return str_to_int(rest, 1, UINT32_MAX, &count) ? (unsigned)count : 0;
}

bool conf_is_generation(struct str file, uint64_t generation)
{
	char line[64];
	int len =
		snprintf(line, sizeof(line), "set $sluice_generation %016" PRIx64 ";", generation);
	return file.len != 0 && memmem(file.p, file.len, line, (size_t)len) != NULL;
}

uint16_t *conf_read_split(struct str file, size_t *ret_count)
{
	static const char mark[] = "\n# split";
	const char *at = file.len != 0 ? memmem(file.p, file.len, mark, sizeof(mark) - 1) : NULL;
	struct str rest =
		at != NULL ? str_skip(file, (size_t)(at - file.p) + sizeof(mark) - 1) : STR("");
	uint16_t *ports = xcalloc(PORTS_MAX, sizeof(*ports));
	size_t count = 0;
	while (rest.len != 0 && rest.p[0] == ' ' && count < PORTS_MAX) {
		size_t len = 1;
		int64_t port = 0;
		while (len < rest.len && rest.p[len] >= '0' && rest.p[len] <= '9')
			len++;
		if (!str_to_int((struct str){rest.p + 1, len - 1}, 1, 65535, &port))
			break;
		ports[count++] = (uint16_t)port;
		rest = str_skip(rest, len);
	}
	*ret_count = count;
	return ports;
}
