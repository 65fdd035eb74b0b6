// SPDX-License-Identifier: Apache-2.0
/* JSON in, record out: through the intake into a store, and from there as the message that the translator would get. */
#include "proto/frame.h"
#include "watcher/intake.h"

#include "common/xalloc.h"

#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { TEXT_LEN = 8192 };

struct row {
	const char *name;
	enum record_kind kind;
	size_t version; /* index, best first */
	const char *json;
	const char *want; /* the message's body, or "refused: ..." */
};

#define META(rest) "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"" rest "}"
#define SPEC(spec) META(",\"uid\":\"u\"") ",\"spec\":{" spec "}}"
#define HEAD(kind) "{\"kind\"=>\"" kind "\", \"namespace\"=>\"n\", \"name\"=>\"a\", \"uid\"=>\"u\""

static const struct row rows[] = {
	/* ---- every kind: metadata ---- */
	{"a name is enough", RECORD_SERVICE, 0, "{\"metadata\":{\"name\":\"a\"}}",
		"{\"kind\"=>\"service\", \"name\"=>\"a\"}"},
	{"without a name", RECORD_SERVICE, 0, "{\"metadata\":{}}",
		"refused: metadata.name: is no name of an object"},
	{"without metadata", RECORD_SERVICE, 0, "{}",
		"refused: metadata.name: is no name of an object"},
	{"not an object", RECORD_SERVICE, 0, "[]", "refused: must be an object"},
	{"metadata of another type", RECORD_SERVICE, 0, "{\"metadata\":1}",
		"refused: metadata: must be an object"},
	{"a name of another type", RECORD_SERVICE, 0, "{\"metadata\":{\"name\":1}}",
		"refused: metadata.name: must be text"},
	{"a name that is a path", RECORD_SERVICE, 0, "{\"metadata\":{\"name\":\"../x\"}}",
		"refused: metadata.name: is no name of an object"},
	{"a name with a NUL", RECORD_SERVICE, 0, "{\"metadata\":{\"name\":\"a\\u0000b\"}}",
		"refused: metadata.name: is no name of an object"},
	{"a namespace that is a path", RECORD_SERVICE, 0,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"a/b\"}}",
		"refused: metadata.namespace: is no name of a namespace"},
	{"a time that is none", RECORD_INGRESS, 0, META(",\"creationTimestamp\":\"yesterday\"") "}",
		"refused: metadata.creationTimestamp: is no time"},
	{"a month too many", RECORD_INGRESS, 0,
		META(",\"creationTimestamp\":\"2026-13-14T09:00:00Z\"") "}",
		"refused: metadata.creationTimestamp: is no time"},

	/* ---- Ingress v1 ---- */
	{"an empty Ingress", RECORD_INGRESS, 0, SPEC(""), HEAD("ingress") "}"},
	{"null everywhere", RECORD_INGRESS, 0,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"annotations\":"
		"null,\"labels\":null},"
		"\"spec\":{\"rules\":null,\"tls\":null,\"defaultBackend\":null,"
		"\"ingressClassName\":null},\"status\":null}",
		HEAD("ingress") "}"},
	{"the time of creation", RECORD_INGRESS, 0,
		META(",\"uid\":\"u\",\"creationTimestamp\":\"2026-07-14T09:00:00Z\"") "}",
		HEAD("ingress") ", \"created\"=>1784019600}"},
	{"a rule with each type of path", RECORD_INGRESS, 0,
		SPEC("\"ingressClassName\":\"c\",\"rules\":[{\"host\":\"h\",\"http\":{\"paths\":["
		     "{\"path\":\"/"
		     "e\",\"pathType\":\"Exact\",\"backend\":{\"service\":{\"name\":\"s\",\"port\":"
		     "{\"number\":80}}}},"
		     "{\"path\":\"/"
		     "p\",\"pathType\":\"Prefix\",\"backend\":{\"service\":{\"name\":\"s\","
		     "\"port\":{\"name\":\"http\"}}}},"
		     "{\"pathType\":\"ImplementationSpecific\",\"backend\":{\"resource\":{"
		     "\"apiGroup\":\"x.io\",\"kind\":\"B\",\"name\":\"b\"}}}]}}]"),
		HEAD("ingress") ", \"class_name\"=>\"c\", \"rules\"=>[{\"host\"=>\"h\", "
				"\"paths\"=>["
				"{\"path\"=>\"/e\", \"type\"=>\"exact\", "
				"\"backend\"=>{\"service\"=>\"s\", \"port_number\"=>80}}, "
				"{\"path\"=>\"/p\", \"type\"=>\"prefix\", "
				"\"backend\"=>{\"service\"=>\"s\", \"port_name\"=>\"http\"}}, "
				"{\"backend\"=>{\"resource\"=>\"x.io/B b\"}}]}]}"},
	{"a rule without http, and one without host", RECORD_INGRESS, 0,
		SPEC("\"rules\":[{\"host\":\"h\"},{\"http\":{\"paths\":null}}]"),
		HEAD("ingress") ", \"rules\"=>[{\"host\"=>\"h\"}, {}]}"},
	{"a default backend and TLS", RECORD_INGRESS, 0,
		SPEC("\"defaultBackend\":{\"service\":{\"name\":\"s\",\"port\":{\"number\":8080}}},"
		     "\"tls\":[{\"hosts\":[\"a.b\",\"c.d\"],\"secretName\":\"t\"},{}]"),
		HEAD("ingress") ", \"default_backend\"=>{\"service\"=>\"s\", "
				"\"port_number\"=>8080}, "
				"\"tls\"=>[{\"hosts\"=>[\"a.b\", \"c.d\"], \"secret\"=>\"t\"}, "
				"{}]}"},
	{"annotations sorted, those of tools left out", RECORD_INGRESS, 0,
		META(",\"uid\":\"u\",\"annotations\":{\"z\":\"1\",\"kubectl.kubernetes.io/"
		     "last-applied-configuration\":\"x\","
		     "\"field.cattle.io/publicEndpoints\":\"y\",\"a\":\"\",\"m\":null}") "}",
		HEAD("ingress") ", \"annotations\"=>[{\"key\"=>\"a\", \"value\"=>\"\"}, "
				"{\"key\"=>\"m\", \"value\"=>\"\"}, {\"key\"=>\"z\", "
				"\"value\"=>\"1\"}]}"},
	{"a NUL in a path becomes a replacement character", RECORD_INGRESS, 0,
		SPEC("\"rules\":[{\"http\":{\"paths\":[{\"path\":\"/"
		     "a\\u0000b\",\"backend\":{}}]}}]"),
		HEAD("ingress") ", \"rules\"=>[{\"paths\"=>[{\"path\"=>\"/a\xef\xbf\xbd"
				"b\", \"backend\"=>{}}]}]}"},
	{"an annotation of another type", RECORD_INGRESS, 0, META(",\"annotations\":{\"a\":1}") "}",
		"refused: metadata.annotations: values must be text"},
	{"rules of another type", RECORD_INGRESS, 0, SPEC("\"rules\":{}"),
		"refused: spec.rules: must be a list"},
	{"a rule of another type", RECORD_INGRESS, 0, SPEC("\"rules\":[{},7]"),
		"refused: spec.rules[1]: must be an object"},
	{"a host of another type", RECORD_INGRESS, 0, SPEC("\"rules\":[{\"host\":7}]"),
		"refused: spec.rules[0].host: must be text"},
	{"a port out of range", RECORD_INGRESS, 0,
		SPEC("\"rules\":[{\"http\":{\"paths\":[{\"backend\":{\"service\":{\"port\":{"
		     "\"number\":65536}}}}]}}]"),
		"refused: spec.rules[0].http.paths[0].backend.service.port.number: must be a whole "
		"number from 0 to 65535"},
	{"a port that is a fraction", RECORD_INGRESS, 0,
		SPEC("\"defaultBackend\":{\"service\":{\"port\":{\"number\":8.5}}}"),
		"refused: spec.defaultBackend.service.port.number: must be a whole number from 0 "
		"to 65535"},
	{"an unknown type of path", RECORD_INGRESS, 0,
		SPEC("\"rules\":[{\"http\":{\"paths\":[{\"pathType\":\"Regex\"}]}}]"),
		"refused: spec.rules[0].http.paths[0].pathType: must be Exact, Prefix or "
		"ImplementationSpecific"},
	{"a TLS host of another type", RECORD_INGRESS, 0,
		SPEC("\"tls\":[{\"hosts\":[\"a\",null]}]"),
		"refused: spec.tls[0].hosts[1]: must be text"},
	{"a name over the message's limit", RECORD_INGRESS, 0,
		SPEC("\"tls\":[{\"secretName\":\""
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		     "xxxxxxxxxxxxxxxxxxxxxxx"
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		     "\"}]"),
		"refused: tls[0].secret: longer than 253 bytes"},
	{"text that is no UTF-8", RECORD_INGRESS, 0, SPEC("\"rules\":[{\"host\":\"\xff\"}]"),
		"refused: a string is no UTF-8"},

	/* ---- Ingress v1beta1, of both groups ---- */
	{"backends of v1beta1", RECORD_INGRESS, 1,
		SPEC("\"backend\":{\"serviceName\":\"d\",\"servicePort\":80},\"rules\":[{\"http\":{"
		     "\"paths\":["
		     "{\"path\":\"/"
		     "a\",\"backend\":{\"serviceName\":\"s\",\"servicePort\":\"http\"}},"
		     "{\"path\":\"/"
		     "b\",\"pathType\":\"Exact\",\"backend\":{\"serviceName\":\"s\","
		     "\"servicePort\":\"8080\"}}]}}]"),
		HEAD("ingress") ", \"default_backend\"=>{\"service\"=>\"d\", \"port_number\"=>80}, "
				"\"rules\"=>[{\"paths\"=>["
				"{\"path\"=>\"/a\", \"backend\"=>{\"service\"=>\"s\", "
				"\"port_name\"=>\"http\"}}, "
				"{\"path\"=>\"/b\", \"type\"=>\"exact\", "
				"\"backend\"=>{\"service\"=>\"s\", \"port_name\"=>\"8080\"}}]}]}"},
	{"extensions/v1beta1 is the same", RECORD_INGRESS, 2,
		SPEC("\"backend\":{\"serviceName\":\"d\",\"servicePort\":80}"),
		HEAD("ingress") ", \"default_backend\"=>{\"service\"=>\"d\", "
				"\"port_number\"=>80}}"},
	{"a port of neither type", RECORD_INGRESS, 1, SPEC("\"backend\":{\"servicePort\":true}"),
		"refused: spec.backend.servicePort: must be a number or text"},

	/* ---- IngressClass ---- */
	{"an IngressClass", RECORD_INGRESS_CLASS, 0,
		"{\"metadata\":{\"name\":\"c\",\"uid\":\"u\",\"annotations\":{\"ingressclass."
		"kubernetes.io/is-default-class\":\"true\"}},"
		"\"spec\":{\"controller\":\"sluice.io/"
		"ingress-controller\",\"parameters\":{\"kind\":\"X\"}}}",
		"{\"kind\"=>\"ingress-class\", \"name\"=>\"c\", \"uid\"=>\"u\", "
		"\"controller\"=>\"sluice.io/ingress-controller\", \"is_default\"=>true}"},
	{"one that is not the default", RECORD_INGRESS_CLASS, 1,
		"{\"metadata\":{\"name\":\"c\",\"annotations\":{\"ingressclass.kubernetes.io/"
		"is-default-class\":\"yes\"}},\"spec\":{}}",
		"{\"kind\"=>\"ingress-class\", \"name\"=>\"c\"}"},

	/* ---- Service ---- */
	{"a Service with all it may have", RECORD_SERVICE, 0,
		SPEC("\"type\":\"LoadBalancer\",\"clusterIP\":\"10.0.0.1\",\"selector\":{\"app\":"
		     "\"x\"},\"ports\":["
		     "{\"name\":\"http\",\"port\":80,\"targetPort\":8080,\"protocol\":\"TCP\","
		     "\"appProtocol\":\"kubernetes.io/h2c\"},"
		     "{\"name\":\"dns\",\"port\":53,\"targetPort\":\"dns\",\"protocol\":\"UDP\"},{"
		     "\"name\":\"s\",\"port\":9,\"protocol\":\"SCTP\"}]"),
		HEAD("service") ", \"type\"=>\"load-balancer\", \"has_selector\"=>true, "
				"\"ports\"=>["
				"{\"name\"=>\"http\", \"port\"=>80, \"target_number\"=>8080, "
				"\"app_protocol\"=>\"kubernetes.io/h2c\"}, "
				"{\"name\"=>\"dns\", \"port\"=>53, \"protocol\"=>\"udp\", "
				"\"target_name\"=>\"dns\"}, "
				"{\"name\"=>\"s\", \"port\"=>9, \"protocol\"=>\"sctp\", "
				"\"target_number\"=>9}], \"cluster_ip\"=>\"10.0.0.1\"}"},
	{"a load balancer of ours", RECORD_SERVICE, 0,
		META(",\"uid\":\"u\",\"creationTimestamp\":\"2026-07-14T09:00:00Z\","
		     "\"deletionTimestamp\":\"2026-07-14T09:00:01Z\","
		     "\"finalizers\":[\"x\",\"service.kubernetes.io/load-balancer-cleanup\"],"
		     "\"annotations\":{\"sluice.io/b\":\"2\",\"x.io/c\":\"3\",\"sluice.io/a\":"
		     "\"1\"}") ",\"spec\":{\"type\":\"LoadBalancer\",\"loadBalancerClass\":"
			       "\"sluice.io/load-balancer\",\"sessionAffinity\":\"ClientIP\","
			       "\"externalIPs\":[\"192.0.2.7\"],"
			       "\"loadBalancerSourceRanges\":[\" 10.0.0.0/8 \",\"fd00::/8\"]}}",
		HEAD("service") ", \"type\"=>\"load-balancer\", \"created\"=>1784019600, "
				"\"load_balancer_class\"=>\"sluice.io/load-balancer\", "
				"\"deleting\"=>true, \"finalizer\"=>true, "
				"\"annotations\"=>[{\"key\"=>\"sluice.io/a\", \"value\"=>\"1\"}, "
				"{\"key\"=>\"sluice.io/b\", \"value\"=>\"2\"}], "
				"\"source_ranges\"=>[\"10.0.0.0/8\", \"fd00::/8\"], "
				"\"client_ip_affinity\"=>true}"},
	{"one of another, with its addresses", RECORD_SERVICE, 0,
		SPEC("\"type\":\"LoadBalancer\",\"externalIPs\":[\"192.0.2.7\",\"none\"]},"
		     "\"status\":"
		     "{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"B.x\"},{\"ip\":\"192.0.2.7\"}"
		     "]}"),
		HEAD("service") ", \"type\"=>\"load-balancer\", \"addresses\"=>[{\"hostname\"=>"
				"\"b.x\"}, {\"ip\"=>\"192.0.2.7\"}]}"},
	{"networks in the old annotation", RECORD_SERVICE, 0,
		META(",\"uid\":\"u\",\"annotations\":{\"service.beta.kubernetes.io/"
		     "load-balancer-source-ranges\":\" 10.0.0.0/8, 192.0.2.0/24\"}") "}",
		HEAD("service") ", \"source_ranges\"=>[\"10.0.0.0/8\", \"192.0.2.0/24\"]}"},
	{"networks that are no text", RECORD_SERVICE, 0, SPEC("\"loadBalancerSourceRanges\":[7]"),
		"refused: spec.loadBalancerSourceRanges[0]: must be text"},
	{"headless, without a selector", RECORD_SERVICE, 0,
		SPEC("\"clusterIP\":\"None\",\"selector\":{}"),
		HEAD("service") ", \"headless\"=>true}"},
	{"an external name", RECORD_SERVICE, 0,
		SPEC("\"type\":\"ExternalName\",\"externalName\":\"db.example.com\",\"ports\":"
		     "null"),
		HEAD("service") ", \"type\"=>\"external-name\", "
				"\"external_name\"=>\"db.example.com\"}"},
	{"a node port", RECORD_SERVICE, 0, SPEC("\"type\":\"NodePort\""),
		HEAD("service") ", \"type\"=>\"node-port\"}"},
	{"an unknown type", RECORD_SERVICE, 0, SPEC("\"type\":\"Magic\""),
		"refused: spec.type: is no known type of Service"},
	{"an unknown protocol", RECORD_SERVICE, 0, SPEC("\"ports\":[{\"protocol\":\"DCCP\"}]"),
		"refused: spec.ports[0].protocol: must be TCP, UDP or SCTP"},
	{"a port below zero", RECORD_SERVICE, 0, SPEC("\"ports\":[{\"port\":-1}]"),
		"refused: spec.ports[0].port: must be a whole number from 0 to 65535"},

	/* ---- EndpointSlice v1 ---- */
	{"a slice with null lists", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\",\"labels\":{\"kubernetes.io/service-name\":\"s\"}") ",\"addres"
											 "sType\":"
											 "\"IPv4\","
											 "\"endpoin"
											 "ts\":"
											 "null,"
											 "\"ports\""
											 ":null}",
		HEAD("endpoints") ", \"service\"=>\"s\", \"subsets\"=>[{}]}"},
	{"a slice of no Service", RECORD_ENDPOINTS, 0, META(",\"uid\":\"u\"") "}",
		HEAD("endpoints") ", \"subsets\"=>[{}]}"},
	{"absent conditions mean ready and serving", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"addresses\"=>[{\"ip\"=>\"10.0.0.1\", "
				  "\"ready\"=>true, \"serving\"=>true}]}]}"},
	{"null conditions too", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"],"
				       "\"conditions\":{\"ready\":null}}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"addresses\"=>[{\"ip\"=>\"10.0.0.1\", "
				  "\"ready\"=>true, \"serving\"=>true}]}]}"},
	{"serving follows ready where it is absent", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"],"
				       "\"conditions\":{\"ready\":false}}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"addresses\"=>[{\"ip\"=>\"10.0.0.1\"}]}]}"},
	{"terminating but serving, with all it may have", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"fd00::1\",\"fd00::2\"],"
				       "\"conditions\":{\"ready\":false,\"serving\":true,"
				       "\"terminating\":true},"
				       "\"nodeName\":\"n1\",\"zone\":\"z1\",\"targetRef\":{"
				       "\"kind\":\"Pod\",\"uid\":\"p\"}}],"
				       "\"ports\":[{\"name\":\"\",\"port\":8080,\"protocol\":"
				       "\"TCP\"},{\"name\":\"b\",\"port\":null,\"appProtocol\":"
				       "\"http\"}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"ports\"=>[{\"port\"=>8080}, "
				  "{\"name\"=>\"b\", \"app_protocol\"=>\"http\"}], \"addresses\"=>["
				  "{\"ip\"=>\"fd00::1\", \"serving\"=>true, \"terminating\"=>true, "
				  "\"node\"=>\"n1\", \"zone\"=>\"z1\", \"target_uid\"=>\"p\"}]}]}"},
	{"order has no meaning", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"10.0.0.2\"]},{"
				       "\"addresses\":[\"10.0.0.1\"]},{\"addresses\":[]},{}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"addresses\"=>[{\"ip\"=>\"10.0.0.1\", "
				  "\"ready\"=>true, \"serving\"=>true}, "
				  "{\"ip\"=>\"10.0.0.2\", \"ready\"=>true, \"serving\"=>true}]}]}"},
	{"host names as endpoints are left out", RECORD_ENDPOINTS, 0,
		META(",\"uid\":\"u\"") ",\"addressType\":\"FQDN\",\"endpoints\":[{\"addresses\":["
				       "\"a.b\"]}],\"ports\":[{\"port\":1}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"ports\"=>[{\"port\"=>1}]}]}"},
	{"an address that is none", RECORD_ENDPOINTS, 0,
		META("") ",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]},{\"addresses\":[\"1.2.3.4;"
			 "x\"]}]}",
		"refused: endpoints[1].addresses[0]: is no IP address"},
	{"a condition of another type", RECORD_ENDPOINTS, 0,
		META("") ",\"endpoints\":[{\"conditions\":{\"ready\":\"yes\"}}]}",
		"refused: endpoints[0].conditions: must be true or false each"},
	{"endpoints of another type", RECORD_ENDPOINTS, 0, META("") ",\"endpoints\":[[]]}",
		"refused: endpoints[0]: must be an object"},

	/* ---- EndpointSlice v1beta1 ---- */
	{"zone and node by topology", RECORD_ENDPOINTS, 1,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"],\"topology\":"
				       "{\"kubernetes.io/"
				       "hostname\":\"n1\",\"topology.kubernetes.io/"
				       "zone\":\"z1\"}}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"addresses\"=>[{\"ip\"=>\"10.0.0.1\", "
				  "\"ready\"=>true, \"serving\"=>true, \"node\"=>\"n1\", "
				  "\"zone\"=>\"z1\"}]}]}"},
	{"nodeName wins over topology", RECORD_ENDPOINTS, 1,
		META(",\"uid\":\"u\"") ",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"],\"nodeName\":"
				       "\"n2\",\"topology\":{\"kubernetes.io/hostname\":\"n1\"}}]}",
		HEAD("endpoints") ", \"subsets\"=>[{\"addresses\"=>[{\"ip\"=>\"10.0.0.1\", "
				  "\"ready\"=>true, \"serving\"=>true, \"node\"=>\"n2\"}]}]}"},

	/* ---- Endpoints ---- */
	{"core Endpoints", RECORD_ENDPOINTS, 2,
		META(",\"uid\":\"u\"") ",\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.2\","
				       "\"nodeName\":\"n1\",\"targetRef\":{\"uid\":\"p\"}}],"
				       "\"notReadyAddresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{"
				       "\"name\":\"http\",\"port\":80}]},{\"ports\":null}]}",
		HEAD("endpoints") ", \"service\"=>\"a\", "
				  "\"subsets\"=>[{\"ports\"=>[{\"name\"=>\"http\", \"port\"=>80}], "
				  "\"addresses\"=>[{\"ip\"=>\"10.0.0.1\"}, "
				  "{\"ip\"=>\"10.0.0.2\", \"ready\"=>true, \"serving\"=>true, "
				  "\"node\"=>\"n1\", \"target_uid\"=>\"p\"}]}, {}]}"},
	{"Endpoints without subsets", RECORD_ENDPOINTS, 2, META(",\"uid\":\"u\"") "}",
		HEAD("endpoints") ", \"service\"=>\"a\"}"},
	{"an address without ip", RECORD_ENDPOINTS, 2,
		META("") ",\"subsets\":[{\"notReadyAddresses\":[{}]}]}",
		"refused: subsets[0].notReadyAddresses[0].ip: is no IP address"},

	/* ---- Secret ---- */
	{"a TLS Secret", RECORD_SECRET, 0,
		META(",\"uid\":\"u\"") ",\"type\":\"kubernetes.io/"
				       "tls\",\"data\":{\"tls.crt\":\"Y2VydA==\",\"tls.key\":"
				       "\"a2V5\",\"ca.crt\":\"eA==\"}}",
		HEAD("secret") ", \"certificate\"=>\"cert\", \"private_key\"=>\"key\", "
			       "\"ca\"=>\"x\"}"},
	{"an empty one", RECORD_SECRET, 0,
		META(",\"uid\":\"u\"") ",\"data\":{\"tls.crt\":\"\",\"tls.key\":null}}",
		HEAD("secret") "}"},
	{"without data", RECORD_SECRET, 0, META(",\"uid\":\"u\"") "}", HEAD("secret") "}"},
	{"no base64", RECORD_SECRET, 0,
		META("") ",\"data\":{\"tls.crt\":\"a2V5\",\"tls.key\":\"!!!!\"}}",
		"refused: data.tls.key: is no base64"},
	{"base64 that is cut", RECORD_SECRET, 0, META("") ",\"data\":{\"tls.crt\":\"a2V\"}}",
		"refused: data.tls.crt: is no base64"},

	/* ---- ConfigMap ---- */
	{"a ConfigMap", RECORD_CONFIG_MAP, 0,
		META(",\"uid\":\"u\"") ",\"data\":{\"b\":\"\",\"a\":\"1\"},"
				       "\"binaryData\":{\"c\":\"eA==\"}}",
		HEAD("config-map") ", \"entries\"=>[{\"key\"=>\"a\", \"value\"=>\"1\"}, "
				   "{\"key\"=>\"b\"}]}"},
	{"a ConfigMap without data", RECORD_CONFIG_MAP, 0, META(",\"uid\":\"u\"") "}",
		HEAD("config-map") "}"},
	{"a value that is no text", RECORD_CONFIG_MAP, 0, META("") ",\"data\":{\"a\":1}}",
		"refused: data: has a value that is no text"},

	/* ---- Pod and Node ---- */
	{"a pod that is ready", RECORD_POD, 0,
		META(",\"uid\":\"u\"") ",\"spec\":{\"nodeName\":\"n1\"},"
				       "\"status\":{\"hostIP\":\"10.0.0.1\",\"conditions\":["
				       "{\"type\":\"Initialized\",\"status\":\"False\"},"
				       "{\"type\":\"Ready\",\"status\":\"True\"}]}}",
		HEAD("pod") ", \"node\"=>\"n1\", \"host_ip\"=>\"10.0.0.1\", \"ready\"=>true}"},
	{"a pod that is not ready", RECORD_POD, 0,
		META(",\"uid\":\"u\"") ",\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"conditions\":"
				       "["
				       "{\"type\":\"Ready\",\"status\":\"False\"}]}}",
		HEAD("pod") ", \"node\"=>\"n1\"}"},
	{"a pod that nobody knows of", RECORD_POD, 0,
		META(",\"uid\":\"u\"") ",\"status\":{\"conditions\":["
				       "{\"type\":\"Ready\",\"status\":\"Unknown\"},{}]}}",
		HEAD("pod") "}"},
	{"a pod that is being deleted", RECORD_POD, 0,
		META(",\"uid\":\"u\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"") ",\"spec\":{"
										      "\"nodeName\""
										      ":\"n1\"},"
										      "\"status\":{"
										      "\"conditions"
										      "\":["
										      "{\"type\":"
										      "\"Ready\","
										      "\"status\":"
										      "\"True\"}]}"
										      "}",
		HEAD("pod") ", \"node\"=>\"n1\"}"},
	{"a pod without anything", RECORD_POD, 0, META(",\"uid\":\"u\"") "}", HEAD("pod") "}"},
	{"conditions that are no list", RECORD_POD, 0, META("") ",\"status\":{\"conditions\":{}}}",
		"refused: status.conditions: must be a list"},
	{"a pod on a node without a name", RECORD_POD, 0, META("") ",\"spec\":{\"nodeName\":1}}",
		"refused: spec.nodeName: must be text"},
	{"a node", RECORD_NODE, 0,
		META(",\"uid\":\"u\"") ",\"status\":{\"addresses\":["
				       "{\"type\":\"Hostname\",\"address\":\"n1\"},"
				       "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"},"
				       "{\"type\":\"InternalIP\",\"address\":\"fd00::1\"},"
				       "{\"type\":\"ExternalIP\",\"address\":\"192.0.2.1\"}]}}",
		HEAD("node") ", \"external_ip\"=>\"192.0.2.1\", \"internal_ip\"=>\"10.0.0.1\"}"},
	{"a node whose addresses make no sense", RECORD_NODE, 0,
		META(",\"uid\":\"u\"") ",\"status\":{\"addresses\":[1,null,{\"type\":"
				       "\"InternalIP\"},"
				       "{\"type\":\"ExternalIP\",\"address\":7}]}}",
		HEAD("node") "}"},
	{"a node without a status", RECORD_NODE, 0, META(",\"uid\":\"u\"") "}", HEAD("node") "}"},
};

/* The body of the only object's message as text; the caller frees it. */
static char *text_of_store(struct store *store, enum record_kind kind)
{
	struct store_object *object = store_first(store, kind);
	if (object == NULL)
		return xstrdup("(nothing)");
	struct buf frame;
	buf_init(&frame, 1 << 20);
	store_encode(object, &frame);
	struct str payload = str_skip(buf_str(&frame), FRAME_HEAD_LEN);
	msgpack_unpacked unpacked;
	char *text = xcalloc(1, TEXT_LEN);
	msgpack_unpacked_init(&unpacked);
	assert_int_equal(msgpack_unpack_next(&unpacked, payload.p, payload.len, NULL),
		MSGPACK_UNPACK_SUCCESS);
	assert_int_equal(unpacked.data.type, MSGPACK_OBJECT_ARRAY);
	assert_true(
		msgpack_object_print_buffer(text, TEXT_LEN, unpacked.data.via.array.ptr[1]) > 0);
	msgpack_unpacked_destroy(&unpacked);
	buf_fini(&frame);
	return text;
}

struct refusal {
	char text[512];
	int count;
};

static const struct project_ours ours = {STR("sluice.io/load-balancer"), false, "sluice-1"};

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	struct refusal *refusal = ctx;
	(void)meta;
	snprintf(refusal->text, sizeof(refusal->text), "refused: %s", why);
	refusal->count++;
}

/* msgpack-c prints bytes beyond ASCII as \xNN in texts of any kind. */
static void check_row(const struct row *row)
{
	struct store store;
	struct intake intake;
	struct refusal refusal = {.count = 0};
	store_init(&store);
	intake_init(&intake, kind_version_at(row->kind, row->version), &store, &ours, on_refused,
		&refusal);
	intake_put_text(&intake, str_from(row->json));
	char *got = refusal.count != 0 ? xstrdup(refusal.text) : text_of_store(&store, row->kind);
	if (strcmp(got, row->want) != 0)
		fail_msg("%s:\n got  %s\n want %s", row->name, got, row->want);
	free(got);
	intake_fini(&intake);
	store_fini(&store);
}

static void objects_become_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* ---- what an object that cannot be used does to others ---- */

static void a_bad_object_stays_as_it_was_and_hurts_only_itself(void **state)
{
	(void)state;
	struct store store;
	struct intake intake;
	struct refusal refusal = {.count = 0};
	store_init(&store);
	intake_init(
		&intake, kind_version_at(RECORD_INGRESS, 0), &store, &ours, on_refused, &refusal);
	intake_put_text(&intake, STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"}}"));
	intake_put_text(&intake, STR("{\"metadata\":{\"name\":\"b\",\"uid\":\"2\"}}"));
	assert_int_equal(store.counts[RECORD_INGRESS], 2);
	/* What was known of it stands. */
	intake_put_text(&intake,
		STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"},\"spec\":{\"rules\":1}}"));
	assert_int_equal(refusal.count, 1);
	assert_int_equal(store.counts[RECORD_INGRESS], 2);
	size_t missed = 1;
	assert_int_equal(store_sweep(&store, RECORD_INGRESS, STR_NONE, &missed), 0);
	assert_int_equal(missed, 0);
	intake_put_text(&intake, STR("{\"metadata\":{\"name\":\"b\",\"uid\":1e999}}"));
	assert_int_equal(refusal.count, 2);
	assert_string_equal(refusal.text, "refused: a number is out of range");
	assert_non_null(store_find(&store, RECORD_INGRESS, STR_NONE, STR("b")));
	intake_put_text(&intake, STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"}}"));
	assert_int_equal(store.counts[RECORD_INGRESS], 2);
	intake_fini(&intake);
	store_fini(&store);
}

/* ---- the status of an Ingress ---- */

static void the_status_is_read_in_canonical_form(void **state)
{
	static const struct {
		const char *status;
		const char *managed;
		const char *want;
		bool ours;
	} cases[] = {
		{"{}", "[]", NULL, false},
		{"{\"loadBalancer\":{\"ingress\":null}}", "null", NULL, false},
		{"{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"B.example\"},{\"ip\":\"192.0.2."
		 "1\"},{\"ip\":\"192.0.2.1\"}]}}",
			"[]", "[{\"hostname\":\"b.example\"},{\"ip\":\"192.0.2.1\"}]", false},
		{"{\"loadBalancer\":{\"ingress\":[{\"ip\":\"FD00::0:1\",\"ports\":[{\"port\":443,"
		 "\"protocol\":\"TCP\"},{\"port\":80}]}]}}",
			"[{\"manager\":\"sluice\",\"operation\":\"Update\",\"subresource\":"
			"\"status\",\"fieldsV1\":{\"f:status\":{\"f:loadBalancer\":{\"f:ingress\":{"
			"}}}}}]",
			"[{\"ip\":\"fd00::1\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\"},{"
			"\"port\":443,\"protocol\":\"TCP\"}]}]",
			true},
		{"{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.1\"}]}}",
			"[{\"manager\":\"other\",\"subresource\":\"status\",\"fieldsV1\":{\"f:"
			"status\":{\"f:loadBalancer\":{\"f:ingress\":{}}}}},"
			"{\"manager\":\"sluice\",\"subresource\":\"status\",\"fieldsV1\":{\"f:"
			"status\":{}}}]",
			"[{\"ip\":\"192.0.2.1\"}]", false},
		{"{\"loadBalancer\":{\"ingress\":[{\"ip\":7},{},{\"ip\":\"nonsense\"},{\"ip\":"
		 "\"192.0.2.1\"}]}}",
			"[]", "[{\"ip\":\"192.0.2.1\"}]", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store store;
		struct intake intake;
		struct refusal refusal = {.count = 0};
		char *text = xasprintf("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"77\","
				       "\"managedFields\":%s},\"status\":%s}",
			cases[i].managed, cases[i].status);
		store_init(&store);
		intake_init(&intake, kind_version_at(RECORD_INGRESS, 0), &store, &ours, on_refused,
			&refusal);
		intake_put_text(&intake, str_from(text));
		struct store_object *object = store_first(&store, RECORD_INGRESS);
		assert_non_null(object);
		const struct store_target *ingress = store_target_of(object);
		assert_string_equal(ingress->revision, "77");
		if (cases[i].want == NULL)
			assert_null(ingress->status);
		else
			assert_string_equal(ingress->status, cases[i].want);
		assert_int_equal(ingress->status_is_ours, cases[i].ours);
		free(text);
		intake_fini(&intake);
		store_fini(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_become_records),
		cmocka_unit_test(a_bad_object_stays_as_it_was_and_hurts_only_itself),
		cmocka_unit_test(the_status_is_read_in_canonical_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
