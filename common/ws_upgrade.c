// SPDX-License-Identifier: Apache-2.0
#include "common/ws_upgrade.h"

#include "common/ascii.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <bsd/stdlib.h>
#include <openssl/evp.h>
#include <strings.h>

enum { KEY_LEN = 16, KEY_TEXT_LEN = 24, SHA1_LEN = 20 };

/* ---- request ---- */

static void make_key(struct ws_upgrade *upgrade, char *ret_key)
{
	unsigned char nonce[KEY_LEN];
	unsigned char digest[SHA1_LEN];
	unsigned len = 0;
	arc4random_buf(nonce, sizeof(nonce));
	EVP_EncodeBlock((unsigned char *)ret_key, nonce, sizeof(nonce));
	char *text = xasprintf("%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", ret_key);
	must(EVP_Digest(text, strlen(text), digest, &len, EVP_sha1(), NULL) == 1);
	EVP_EncodeBlock((unsigned char *)upgrade->accept, digest, SHA1_LEN);
	free(text);
}

char *ws_upgrade_http_url(const char *url)
{
	if (strncasecmp(url, "wss://", 6) == 0)
		return xasprintf("https://%s", url + 6);
	if (strncasecmp(url, "ws://", 5) == 0)
		return xasprintf("http://%s", url + 5);
	return xstrdup(url);
}

static bool has_host(const struct curl_slist *headers)
{
	for (; headers != NULL; headers = headers->next) {
		if (strncasecmp(headers->data, "Host:", 5) == 0)
			return true;
	}
	return false;
}

static int put_target(CURLU *url, bool with_host, struct buf *out)
{
	char *host = NULL;
	char *port = NULL;
	char *path = NULL;
	char *query = NULL;
	curl_url_get(url, CURLUPART_HOST, &host, 0);
	curl_url_get(url, CURLUPART_PORT, &port, 0);
	curl_url_get(url, CURLUPART_PATH, &path, 0);
	curl_url_get(url, CURLUPART_QUERY, &query, 0);
	int err = buf_printf(out, "GET %s%s%s HTTP/1.1\r\n", path != NULL ? path : "/",
		query != NULL ? "?" : "", query != NULL ? query : "");
	if (err == 0 && with_host)
		err = buf_printf(out, "Host: %s%s%s\r\n", host != NULL ? host : "",
			port != NULL ? ":" : "", port != NULL ? port : "");
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_free(query);
	return err;
}

static int put_lines(
	const char *key, const char *user_agent, const struct curl_slist *headers, struct buf *out)
{
	int err = buf_printf(out,
		"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
		"Sec-WebSocket-Version: 13\r\nUser-Agent: %s\r\n",
		key, user_agent);
	for (; headers != NULL && err == 0; headers = headers->next)
		err = buf_printf(out, "%s\r\n", headers->data);
	return err == 0 ? buf_append(out, "\r\n", 2) : err;
}

const char *ws_upgrade_write(struct ws_upgrade *upgrade, const char *url, const char *user_agent,
	const struct curl_slist *headers, struct buf *out)
{
	char key[KEY_TEXT_LEN + 1];
	char *http_url = ws_upgrade_http_url(url);
	CURLU *parts = curl_url();
	const char *problem = NULL;
	must(parts != NULL);
	make_key(upgrade, key);
	if (curl_url_set(parts, CURLUPART_URL, http_url, CURLU_PATH_AS_IS) != CURLUE_OK)
		problem = "the URL is malformed";
	else if (put_target(parts, !has_host(headers), out) != 0 ||
		 put_lines(key, user_agent, headers, out) != 0)
		problem = "the URL and the headers are too long";
	curl_url_cleanup(parts);
	free(http_url);
	return problem;
}

/* ---- response ---- */

static bool has_token(struct str list, struct str want)
{
	while (list.len != 0) {
		if (ascii_eq_nocase(str_trim(str_cut(&list, ',')), want))
			return true;
	}
	return false;
}

static const char *check_headers(const struct ws_upgrade *upgrade, struct str lines)
{
	bool upgrades = false;
	bool connects = false;
	bool accepts = false;
	while (lines.len != 0) {
		struct str value = str_cut(&lines, '\n');
		struct str name = str_cut(&value, ':');
		value = str_trim(value);
		if (ascii_eq_nocase(name, STR("Upgrade")))
			upgrades = ascii_eq_nocase(value, STR("websocket"));
		else if (ascii_eq_nocase(name, STR("Connection")))
			connects = connects || has_token(value, STR("upgrade"));
		else if (ascii_eq_nocase(name, STR("Sec-WebSocket-Accept")))
			accepts = str_eq_c(value, upgrade->accept);
		else if (ascii_eq_nocase(name, STR("Sec-WebSocket-Extensions")) && value.len != 0)
			return "the answer to the upgrade has an extension that was not offered";
	}
	if (!upgrades || !connects)
		return "the answer to the upgrade upgrades to something else";
	return accepts ? NULL : "the answer to the upgrade has the wrong key";
}

const char *ws_upgrade_check(
	const struct ws_upgrade *upgrade, struct str answer, size_t *ret_head_len, long *ret_status)
{
	int64_t status = 0;
	*ret_head_len = 0;
	const char *end = answer.len != 0 ? memmem(answer.p, answer.len, "\r\n\r\n", 4) : NULL;
	if (end == NULL)
		return NULL;
	struct str lines = {answer.p, (size_t)(end - answer.p)};
	struct str first = str_cut(&lines, '\n');
	if (!str_starts_with(first, STR("HTTP/1.1 ")) || first.len < 12 ||
		!str_to_int((struct str){first.p + 9, 3}, 100, 599, &status))
		return "the answer to the upgrade is no HTTP/1.1";
	if (status != 101) {
		*ret_status = (long)status;
		return "the server refused the upgrade";
	}
	const char *problem = check_headers(upgrade, lines);
	if (problem == NULL)
		*ret_head_len = (size_t)(end - answer.p) + 4;
	return problem;
}
