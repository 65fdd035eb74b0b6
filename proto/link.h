// SPDX-License-Identifier: Apache-2.0
/*
 * One end of a link: a Unix socket that speaks PROTOCOL.md. A listener serves one peer at a time; a
 * connector connects, and reconnects with jittered back-off after the link was lost. Both exchange
 * hellos, answer pings, and detect a hung peer.
 *
 *   CLOSED --connect/accept--> GREETING --both hellos--> UP --any fault, bye, silence--> CLOSED
 *
 * Nothing is queued here beyond one bounded buffer: link_send() appends a frame; while
 * link_is_full() the owner leaves its objects dirty and waits for on_room(). So a slow peer makes
 * changes coalesce, and never makes a queue grow.
 */
#pragma once

#include "proto/listener.h"
#include "proto/message.h"

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
	LINK_PING_AFTER_S = 5, /* of silence */
	LINK_OUT_HIGH = 256 * 1024,
	LINK_OUT_LOW = 64 * 1024,
	LINK_UIDS_MAX = LISTENER_UIDS_MAX,
};

struct link;

struct link_ops {
	/* Both hellos are through: send the snapshot (on_room() follows at once). `peer` is valid
	 * during the call. NULL accepts the peer, a text refuses it (a wrong role has been refused
	 * before). */
	const char *(*on_up)(void *ctx, struct link *link, const struct hello *peer);
	/* A message other than hello, ping, pong, bye; unknown types are skipped. Decode it with
	 * link_decode(). A negative errno closes the link; give the reason by link_complain()
	 * first. */
	int (*on_message)(void *ctx, struct link *link, const struct message *message);
	/* No more input right now: process what arrived. */
	void (*on_dry)(void *ctx, struct link *link);
	/* There is room to send. */
	void (*on_room)(void *ctx, struct link *link);
	/* The link was up and is down now. */
	void (*on_down)(void *ctx, struct link *link);
};

struct link_config {
	struct ev_loop *loop;
	const char *path;        /* of the socket; copied */
	const char *socket_name; /* listeners: its name with the service manager, such as
				    "source.sock" */
	struct hello
		hello; /* ours; its texts and lists must stay valid as long as the link lives */
	enum peer_role peer_role;  /* what the other side must be */
	const uid_t *allowed_uids; /* listeners; root and our own are always allowed */
	size_t allowed_count;      /* at most LINK_UIDS_MAX */
	const char *
		allow_option; /* listeners: the option that adds to them, for the log; not copied */
	/* Listeners, for a socket created here: its file was removed or replaced, so only the
	 * connected peer can go on (logged). */
	void (*on_socket_gone)(void *ctx);
	double ping_after_s; /* 0: LINK_PING_AFTER_S */
	double dead_after_s; /* for all of deadlines.h; 0: the values there */
	const struct link_ops *ops;
	void *ctx;
};

/* Starts listening. NULL and a negative errno in *ret_err if the socket cannot be created. */
struct link *link_listen(const struct link_config *config, int *ret_err);
/* Starts connecting, and never gives up. */
struct link *link_connect(const struct link_config *config);
/* Sends a bye with the reason if up, closes and frees. */
void link_free(struct link *link, const char *reason);

/* Both hellos have been exchanged. */
bool link_is_up(const struct link *link);
/* More than LINK_OUT_HIGH bytes wait: send no objects until on_room(). */
bool link_is_full(const struct link *link);

/* Decodes into *ret_value (see message_decode()). -EBADMSG, with the reason noted as by link_complain(): return it from
 * on_message(). */
[[nodiscard]] int link_decode(
	struct link *link, const struct message *message, struct arena *arena, void *ret_value);
/* Notes why the link is about to be closed, for the log and the bye. */
[[gnu::format(printf, 2, 3)]] void link_complain(struct link *link, const char *format, ...);

/* Sends a message of any type but upsert. Only while up. -EINVAL: it breaks a limit (logged). */
int link_send(struct link *link, enum message_type type, const void *value);
/* Sends an encoded payload, such as a stored one, with a 4-byte head before it. */
void link_send_payload(struct link *link, struct str payload);
/* The output, for message_encode_*(); call link_flush() afterwards. */
struct buf *link_out(struct link *link);
void link_flush(struct link *link);
