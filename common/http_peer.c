// SPDX-License-Identifier: Apache-2.0
#include "common/http_peer.h"

#include "common/descriptors.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <sys/socket.h>

enum {
	KEEPALIVE_IDLE_S = 30,
	KEEPALIVE_INTERVAL_S = 10,
	/* Data unacknowledged for this long means that the peer is gone. */
	USER_TIMEOUT_MS = 60 * 1000,
	/* Go's servers close connections after 90 s of idleness, so one this young is probably alive. */
	IDLE_MAX_S = 60,
	/* Handles created together share the parsed CAs; a rotated file is noticed soon. */
	CA_CACHE_S = 60,
	/* Per handle. A watch holds them for ever and needs little. */
	RECEIVE_BUFFER_LEN = 8 * 1024,
	SEND_BUFFER_LEN = 16 * 1024,
};

static void free_wiped(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void http_peer_fini(struct http_peer *peer)
{
	free(peer->ca_file);
	free(peer->ca_data);
	free(peer->cert_file);
	free(peer->cert_data);
	free(peer->key_file);
	secret_fini(&peer->key_data);
	free(peer->server_name);
	free_wiped(peer->proxy_url); /* may contain a password */
	free(peer->unix_socket);
	*peer = (struct http_peer){0};
}

struct http_peer *http_peer_new(void)
{
	struct http_peer *peer = xcalloc(1, sizeof(*peer));
	peer->refs = 1;
	return peer;
}

struct http_peer *http_peer_hold(struct http_peer *peer)
{
	peer->refs++;
	return peer;
}

void http_peer_release(struct http_peer *peer)
{
	if (peer == NULL || --peer->refs != 0)
		return;
	http_peer_fini(peer);
	free(peer);
}

static bool same_text(const char *a, const char *b)
{
	return str_eq(str_from(a), str_from(b));
}

bool http_peer_is_same(const struct http_peer *a, const struct http_peer *b)
{
	return a->insecure == b->insecure && same_text(a->server_name, b->server_name) &&
	       same_text(a->proxy_url, b->proxy_url) && same_text(a->ca_data, b->ca_data) &&
	       same_text(a->cert_data, b->cert_data) && secret_eq(&a->key_data, &b->key_data);
}

/* ---- headers ---- */

bool http_headers_add(struct curl_slist **headers, const char *line)
{
	if (strpbrk(line, "\r\n") != NULL)
		return false;
	struct curl_slist *longer = curl_slist_append(*headers, line);
	must(longer != NULL);
	*headers = longer;
	return true;
}

bool http_headers_add_bearer(struct curl_slist **headers, const struct secret *token)
{
	char *line = xasprintf("Authorization: Bearer %s", token->text);
	bool good = http_headers_add(headers, line);
	free_wiped(line);
	return good;
}

/* libcurl's own basic authentication makes copies that are not wiped. */
bool http_headers_add_basic(
	struct curl_slist **headers, const char *username, const struct secret *password)
{
	bool has_password = password != NULL && secret_is_set(password);
	char *pair = xasprintf("%s:%s", username, has_password ? password->text : "");
	size_t len = strlen(pair);
	char *encoded = xmalloc((len + 2) / 3 * 4 + 1);
	EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)pair, (int)len);
	char *line = xasprintf("Authorization: Basic %s", encoded);
	bool good = http_headers_add(headers, line);
	free_wiped(line);
	free_wiped(encoded);
	free_wiped(pair);
	return good;
}

void http_headers_free(struct curl_slist *headers)
{
	for (struct curl_slist *item = headers; item != NULL; item = item->next)
		explicit_bzero(item->data, strlen(item->data));
	curl_slist_free_all(headers);
}

/* ---- destination ---- */

static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
	char *text = NULL;
	if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
		return NULL;
	char *copy = xstrdup(text);
	curl_free(text);
	return copy;
}

static bool is_http(CURLU *url)
{
	char *scheme = url_part(url, CURLUPART_SCHEME, 0);
	bool is = scheme != NULL && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
	free(scheme);
	return is;
}

/* SNI and verification use the URL's host, so the URL gets the server name; the connection and the Host header keep the real host. */
static bool rename_server(CURLU *url, const char *server_name, struct curl_slist **headers,
	struct curl_slist **ret_connect_to)
{
	char *host = url_part(url, CURLUPART_HOST, 0);
	char *port = url_part(url, CURLUPART_PORT, 0);
	char *real_port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	char *line =
		xasprintf("Host: %s%s%s", host, port != NULL ? ":" : "", port != NULL ? port : "");
	char *where = xasprintf("::%s:%s", host, real_port);
	*ret_connect_to = curl_slist_append(NULL, where);
	bool good = *ret_connect_to != NULL && http_headers_add(headers, line) &&
		    curl_url_set(url, CURLUPART_HOST, server_name, 0) == CURLUE_OK;
	free(host);
	free(port);
	free(real_port);
	free(line);
	free(where);
	return good;
}

static bool set_url(CURL *handle, const char *text, const char *server_name,
	struct curl_slist **headers, struct curl_slist **ret_connect_to)
{
	CURLU *url = curl_url();
	must(url != NULL);
	bool good = curl_url_set(url, CURLUPART_URL, text, CURLU_PATH_AS_IS) == CURLUE_OK &&
		    is_http(url);
	if (good && server_name != NULL) {
		good = rename_server(url, server_name, headers, ret_connect_to);
		curl_easy_setopt(handle, CURLOPT_CONNECT_TO, *ret_connect_to);
	}
	char *whole = good ? url_part(url, CURLUPART_URL, 0) : NULL;
	if (whole != NULL)
		curl_easy_setopt(handle, CURLOPT_URL, whole);
	good = whole != NULL;
	free(whole);
	curl_url_cleanup(url);
	return good;
}

/* ---- TLS ---- */

/* libcurl uses our memory while the handle lives, and makes no copy that would not be wiped. */
static void set_blob(CURL *handle, CURLoption option, const char *data, size_t len)
{
	struct curl_blob blob = {
		.data = (void *)(uintptr_t)data, .len = len, .flags = CURL_BLOB_NOCOPY};
	curl_easy_setopt(handle, option, &blob);
}

static void set_client_certificate(CURL *handle, const struct http_peer *peer)
{
	if (peer->cert_data != NULL)
		set_blob(handle, CURLOPT_SSLCERT_BLOB, peer->cert_data, strlen(peer->cert_data));
	else if (peer->cert_file != NULL)
		curl_easy_setopt(handle, CURLOPT_SSLCERT, peer->cert_file);
	else
		return;
	if (secret_is_set(&peer->key_data))
		set_blob(handle, CURLOPT_SSLKEY_BLOB, peer->key_data.text, peer->key_data.len);
	else if (peer->key_file != NULL)
		curl_easy_setopt(handle, CURLOPT_SSLKEY, peer->key_file);
	/* A resumed session keeps its original certificate, though the file may contain another one now. */
	curl_easy_setopt(handle, CURLOPT_SSL_SESSIONID_CACHE, 0L);
}

static void set_tls(CURL *handle, const struct http_peer *peer)
{
	curl_easy_setopt(handle, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(handle, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
	/* Otherwise the system's CA folder would be trusted besides the given CA, and nothing would be cached. */
	curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
	/* Otherwise OpenSSL would ask the terminal for the password of an encrypted key. */
	curl_easy_setopt(handle, CURLOPT_KEYPASSWD, "");
	if (peer == NULL)
		return;
	if (peer->insecure) {
		curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (peer->ca_data != NULL)
		set_blob(handle, CURLOPT_CAINFO_BLOB, peer->ca_data, strlen(peer->ca_data));
	else if (peer->ca_file != NULL)
		curl_easy_setopt(handle, CURLOPT_CAINFO, peer->ca_file);
	set_client_certificate(handle, peer);
}

/* ---- connection ---- */

/* Detects a dead peer; if a proxy keeps the connection alive, the caller has to. */
static int on_socket_made(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	unsigned timeout_ms = USER_TIMEOUT_MS;
	if (purpose == CURLSOCKTYPE_IPCXN)
		(void)setsockopt(
			fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	return CURL_SOCKOPT_OK;
}

/* libcurl would not report why socket() failed. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	if (fd < 0)
		descriptors_check(errno);
	return fd;
}

static void set_connection(CURL *handle, double connect_timeout_s)
{
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	/* A tunnelling proxy does not get our headers, and its response is not the server's. */
	curl_easy_setopt(handle, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
	curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, (long)IDLE_MAX_S);
	curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER_LEN);
	curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER_LEN);
	curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_timeout_s * 1e3));
}

const char *http_peer_apply(CURL *handle, const struct http_peer *peer, const char *url,
	double connect_timeout_s, struct curl_slist **headers, struct curl_slist **ret_connect_to)
{
	const char *server_name = peer != NULL ? peer->server_name : NULL;
	set_connection(handle, connect_timeout_s);
	set_tls(handle, peer);
	if (peer != NULL && peer->proxy_url != NULL)
		curl_easy_setopt(handle, CURLOPT_PROXY, peer->proxy_url);
	if (peer != NULL && peer->unix_socket != NULL) {
		curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, peer->unix_socket);
		curl_easy_setopt(handle, CURLOPT_PROXY, "");
	}
	if (!set_url(handle, url, server_name, headers, ret_connect_to))
		return "the URL is malformed, or neither http nor https";
	return NULL;
}
