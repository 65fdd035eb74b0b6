// SPDX-License-Identifier: Apache-2.0
#include "common/ws_upgrade.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <bsd/stdlib.h>
#include <curl/curl.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum { KEY_LEN = 16, KEY_TEXT_LEN = 24, SHA1_LEN = 20, ACCEPT_LEN = 28 };

struct ws_upgrade {
	char accept[ACCEPT_LEN + 1]; /* what the server must answer to our key */
};

static char *base64(const void *data, size_t len)
{
	unsigned char *text = xmalloc((len + 2) / 3 * 4 + 1);
	EVP_EncodeBlock(text, data, (int)len);
	return (char *)text;
}

static void compute_accept(struct ws_upgrade *upgrade, const char *key)
{
	unsigned char digest[SHA1_LEN];
	unsigned len = 0;
	char *text = xasprintf("%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	must(EVP_Digest(text, strlen(text), digest, &len, EVP_sha1(), NULL) == 1);
	char *accept = base64(digest, SHA1_LEN);
	memcpy(upgrade->accept, accept, sizeof(upgrade->accept));
	free(accept);
	free(text);
}

char *ws_upgrade_http_url(const char *url)
{
	if (strncmp(url, "wss://", 6) == 0)
		return xasprintf("https://%s", url + 6);
	if (strncmp(url, "ws://", 5) == 0)
		return xasprintf("http://%s", url + 5);
	return xstrdup(url);
}

static void put_basic(const struct ws_call *call, struct buf *out)
{
	const char *password =
		call->password != NULL && secret_is_set(call->password) ? call->password->text : "";
	char *pair = xasprintf("%s:%s", call->username, password);
	char *text = base64(pair, strlen(pair));
	must(buf_printf(out, "Authorization: Basic %s\r\n", text) == 0);
	explicit_bzero(pair, strlen(pair));
	explicit_bzero(text, strlen(text));
	free(pair);
	free(text);
}

static void put_target(const char *url, struct buf *out)
{
	char *http_url = ws_upgrade_http_url(url);
	CURLU *parts = curl_url();
	char *host = NULL;
	char *port = NULL;
	char *path = NULL;
	char *query = NULL;
	curl_url_set(parts, CURLUPART_URL, http_url, 0);
	curl_url_get(parts, CURLUPART_HOST, &host, 0);
	curl_url_get(parts, CURLUPART_PORT, &port, 0);
	curl_url_get(parts, CURLUPART_PATH, &path, 0);
	curl_url_get(parts, CURLUPART_QUERY, &query, 0);
	must(buf_printf(out, "GET %s%s%s HTTP/1.1\r\nHost: %s%s%s\r\n", path != NULL ? path : "/",
		     query != NULL ? "?" : "", query != NULL ? query : "", host != NULL ? host : "",
		     port != NULL ? ":" : "", port != NULL ? port : "") == 0);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_free(query);
	curl_url_cleanup(parts);
	free(http_url);
}

struct ws_upgrade *ws_upgrade_new(const struct ws_call *call, struct buf *out)
{
	struct ws_upgrade *upgrade = xcalloc(1, sizeof(*upgrade));
	unsigned char nonce[KEY_LEN];
	arc4random_buf(nonce, sizeof(nonce));
	char *key = base64(nonce, sizeof(nonce));
	compute_accept(upgrade, key);
	put_target(call->url, out);
	must(buf_printf(out,
		     "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
		     "Sec-WebSocket-Version: 13\r\nUser-Agent: %s\r\n",
		     key, call->user_agent) == 0);
	for (size_t i = 0; call->headers != NULL && call->headers[i] != NULL; i++)
		must(buf_printf(out, "%s\r\n", call->headers[i]) == 0);
	if (call->username != NULL)
		put_basic(call, out);
	must(buf_append(out, "\r\n", 2) == 0);
	free(key);
	return upgrade;
}

void ws_upgrade_free(struct ws_upgrade *upgrade)
{
	free(upgrade);
}

static bool has_accept(const struct ws_upgrade *upgrade, struct str head)
{
	static const char name[] = "sec-websocket-accept:";
	while (head.len != 0) {
		const char *newline = memchr(head.p, '\n', head.len);
		struct str line = {head.p, newline != NULL ? (size_t)(newline - head.p) : head.len};
		head = str_skip(head, line.len + 1);
		if (line.len < sizeof(name) || strncasecmp(line.p, name, sizeof(name) - 1) != 0)
			continue;
		line = str_skip(line, sizeof(name) - 1);
		while (line.len != 0 && line.p[0] == ' ')
			line = str_skip(line, 1);
		while (line.len != 0 && strchr(" \r", line.p[line.len - 1]) != NULL)
			line.len--;
		return str_eq_c(line, upgrade->accept);
	}
	return false;
}

const char *ws_upgrade_check(
	const struct ws_upgrade *upgrade, struct str answer, size_t *ret_head_len, long *ret_status)
{
	const char *end = memmem(answer.p, answer.len, "\r\n\r\n", 4);
	int64_t status = 0;
	*ret_head_len = 0;
	if (end == NULL)
		return NULL;
	struct str head = {answer.p, (size_t)(end - answer.p) + 2};
	if (!str_starts_with(head, STR("HTTP/1.1 ")) || head.len < 14 ||
		!str_to_int((struct str){head.p + 9, 3}, 100, 999, &status))
		return "the answer to the upgrade is no HTTP/1.1";
	*ret_status = (long)status;
	if (status != 101)
		return "the upgrade was refused";
	if (!has_accept(upgrade, head))
		return "the answer to the upgrade has the wrong key";
	*ret_head_len = head.len + 2;
	return NULL;
}
