// SPDX-License-Identifier: Apache-2.0
/*
 * The inside of the engine, shared by its modules:
 *
 *   records.c    records from the watcher into the graph
 *   changes.c    what a changed record changes, and who is dirty
 *   targets.c    what an ingress needs, by its plan
 *   owners.c     whose a host is
 *   claims.c     what only one of several can have
 *   offers.c     what each of them has for it
 *   objects.c    builds the object of a node, with its diagnostics
 *   host_paths.c gathers the paths of a virtual host
 *   batch.c      objects to the provider, in batches that end in a commit
 *   statuses.c   statuses from the provider to the watcher
 *   measure.c    metrics for metrics.def
 *   work.c       settles, releases and tells what waits for it
 *   engine.c     the entry points, and whose turn it is
 */
#pragma once

#include "translator/fronts.h"
#include "translator/publish.h"
#include "translator/diagnostics.h"
#include "translator/plans.h"
#include "translator/classes.h"
#include "translator/engine.h"
#include "translator/graph.h"
#include "translator/pending.h"
#include "translator/plan.h"
#include "translator/secrets.h"
#include "translator/source_peer.h"

enum {
	WORK_STEPS_MAX = 512, /* before others get their turn */
	/* As many as a list holds, and within a frame beside two MiB of chain and key. */
	CERTIFICATE_HOSTS_MAX = 8192,
};

struct batch {
	bool is_snapshot;
	bool wrote; /* something since the last commit */
	bool holds; /* an old form stays with the provider, and so does what it may refer to */
	int stage;
};

struct engine {
	struct engine_config config;
	struct source_peer *source;
	struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct classes *classes;
	struct plans *plans;
	struct diagnostics *diagnostics;
	struct publish *publish;
	struct fronts *fronts;

	struct graph graph;
	struct arena scratch; /* of one step */
	size_t record_counts[NODE_RECORD_KINDS];
	size_t sent_counts[LB_KIND_COUNT]; /* objects that the provider has */

	uint8_t marks[RECORD_KIND_COUNT];

	bool snapshot_due;
	uint64_t serial;
	struct batch batch;
};

/* ---- claims.c ---- */

/* Finds who holds it. No batch is active. */
void claims_settle(struct engine *engine, struct claim_node *claim);
void claim_left(
	struct engine *engine, struct claim_node *claim, const struct ingress_node *ingress);
/* Has those claims settled anew for which the ingress, with its present plan, may count. */
void claims_ask_of(struct engine *engine, struct ingress_node *ingress);
/* The same, when the socket has run dry and once for many Secrets: see change_by_secrets(). */
void claims_ask_by_secrets(struct engine *engine, struct ingress_node *ingress);
/* The certificate is going. */
void claims_forget_secret(struct engine *engine, struct secret_node *secret);
/* What others have of what the plan claims. */
void claims_diagnose(struct engine *engine, const struct ingress_node *ingress,
	const struct plan *plan, struct diag_list *diags);

/* ---- owners.c ---- */

/* The Ingress to whose namespace the host belongs, and which says with whom it is shared; NULL: it belongs to nobody. */
struct ingress_node *owners_find(
	struct engine *engine, struct balancer_node *balancer, struct str host);
/* The same of a virtual host that is built of it; what it says must be settled anew when it changes. */
struct ingress_node *owners_of(struct engine *engine, struct host_node *host);
/* Whether what belongs to that one may be had by the other. `owner`: of owners_find(). */
bool owners_allow(const struct ingress_node *owner, const struct ingress_node *ingress);
/* Tells the owner of one that may not. `field`: as of diag_add(). */
void owners_tell(const struct ingress_node *owner, const struct object_ref *loser, struct str host,
	const char *field, struct diag_list *diags);
/* After it has become a user of the host, or is none any more. */
void owners_joined(
	struct engine *engine, struct host_node *host, const struct ingress_node *ingress);
void owners_left(struct engine *engine, struct host_node *host, const struct ingress_node *ingress);
/* Its age, or with whom it shares its hosts, is another. */
void owners_changed(struct engine *engine, struct host_node *host);
/* What follows from who owns the host now. No batch is active. */
void owners_settle(struct engine *engine, struct host_node *host);
/* Whether it has hosts, and none of them is served for it, nor anything else. */
bool owners_have_all(struct engine *engine, struct ingress_node *ingress);

/* ---- offers.c ---- */

/* `secret` of a name, `protocol` of a port. */
struct offer {
	const struct claim_node *claim;
	struct secret_node *secret;
	enum listener_protocol protocol;
};

/* NULL: it has nothing for that claim of its. Good until offers_forget(). */
const struct offer *offers_find(
	struct engine *engine, struct ingress_node *ingress, const struct claim_node *claim);
/* Its plan, or the facts of a Secret of it, are others. */
void offers_forget(struct ingress_node *ingress);
/* The Secret of the entry, or the administrator's; NULL: none that is usable. */
struct secret_node *offers_secret(
	struct engine *engine, const struct plan *plan, const struct plan_tls *tls);
/* Whether the certificate of that usable Secret is good for the host. */
bool offers_covers(const struct secret_node *secret, struct str host);

/* ---- records.c ---- */

int records_take(
	struct engine *engine, const struct message *message, struct schema_error *ret_error);
int records_delete(struct engine *engine, const struct record_key *key);
/* It exists but cannot be read now: what is known of it counts as repeated. `payload`: of the message that says so. */
int records_keep(struct engine *engine, const struct record_key *key, struct str payload);
void records_begin(struct engine *engine, enum record_kind kind);
/* Drops what was not named since records_begin(). */
void records_end(struct engine *engine, enum record_kind kind);

/* ---- changes.c ---- */

/* After Secrets that it uses have changed: what looks at all that it needs. */
void change_by_secrets(struct engine *engine, struct ingress_node *ingress);
/* After the record of the node has changed, appeared or gone; `old`: the plan before, NULL when
 * there was none. */
void change_ingress(struct engine *engine, struct ingress_node *ingress, const struct plan *old);
void change_service(struct engine *engine, struct service_node *service);
void change_slice(struct engine *engine, struct slice_node *slice);
void change_secret(struct engine *engine, struct secret_node *secret);
void change_class(struct engine *engine, struct class_node *class);
/* Makes the plans of all Ingresses and Services with these flags anew. */
void change_flagged(struct engine *engine, uint16_t flags);
/* Settings, grouping: everything may be different. */
void change_all(struct engine *engine);

/* ---- objects.c ---- */

/* In the scratch arena; the result is one of the structs of model.h. Diagnostics are finished. */
const void *object_build(struct engine *engine, struct node *node, struct diag_list *diags);
/* Diagnostics of a node's own content: of an object, or of an ingress. */
void object_diagnose(struct engine *engine, struct node *node, struct diag_list *diags);

/* ---- host_paths.c ---- */

/* In the scratch arena; good until the fourth other plan is asked for. */
struct path_claim *host_paths_gather(
	struct engine *engine, struct host_node *node, size_t *ret_count, struct diag_list *diags);

/* ---- batch.c ---- */

/* The provider has everything. */
bool batch_is_idle(const struct engine *engine);
void batch_provider_up(struct engine *engine);
void batch_provider_down(struct engine *engine);
/* True: there is more to do, and room. */
bool batch_work(struct engine *engine);

/* ---- statuses.c ---- */

/* What the provider said last; lists in the arena. False: nothing. */
bool statuses_read(
	const struct balancer_node *balancer, struct arena *arena, struct lb_status *ret_status);
/* It has failed, and has not been applied since. */
bool statuses_has_failed(const struct balancer_node *balancer);
int statuses_take(struct engine *engine, const struct lb_status *status);
void statuses_event(struct engine *engine, const struct lb_event *event);
/* Diagnostics of the load balancer's status. */
void statuses_diagnose(struct engine *engine, struct balancer_node *balancer,
	struct diag_list *diags, bool *ret_keep);
bool statuses_work(struct engine *engine);

/* ---- work.c ---- */

/* True: there is more to do. Claims, and who owns a host. */
bool work_settle(struct engine *engine);
/* Releases those Services whose load balancer is gone. True: there were some. */
bool work_release(struct engine *engine);
/* Tells owners. True: there is more to do, and room. */
bool work_diagnose(struct engine *engine);
