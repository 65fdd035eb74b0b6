// SPDX-License-Identifier: Apache-2.0
// One Ingress: what sluicectl explain says of it.
import {ask, Poll} from "./api.js";
import {clean, el, mark, name, setText, show} from "./dom.js";
import {place, routeState} from "./routes.js";
import {showTraffic} from "./traffic.js";

let subject = "";
let remedies; // by reason

function problem(reason, message) {
	return el("p", {class: "problem"}, el("b", {}, reason), ": ", name(message), remedies[reason] && el("span", {class: "remedy"}, `→ ${remedies[reason]}`));
}

function endpoint(item) {
	const state = item.state === "ready" ? "good" : item.state === "draining" ? "warn" : "bad";
	return el("li", {}, mark(state, item.state), " ", name(item.address), state === "good" ? "" : ` ${item.state}`);
}

function routeCard(explanation, route, at) {
	const [state, word] = routeState(explanation, route);
	const ask = route.path ? `http${route.tls_only ? "s" : ""}://${(route.host ?? "any.example").replace("*", "any")}${route.path}` : "";
	return el("li", {class: "card", "data-key": String(at), "data-health": state},
		el("h3", {}, mark(state, word), " ", place(route)),
		route.service && el("p", {}, "to Service ", name(route.service), ", port ", name(route.port)),
		route.excluded_hosts && el("p", {class: "quiet"}, "not for ", ...route.excluded_hosts.flatMap((host) => [name(host), " "]), route.more_excluded ? "and more" : ""),
		route.endpoints && el("ul", {"aria-label": "Endpoints"}, ...route.endpoints.map(endpoint)),
		!route.served && route.reason && problem(route.reason, route.message),
		ask && el("p", {}, el("a", {href: "#ask?" + encodeURIComponent(ask)}, "Ask the line what it does with a request")));
}

function facts(explanation) {
	const list = el("dl", {});
	const add = (what, ...value) => list.append(el("dt", {}, what), el("dd", {}, ...value));
	add("Class", name(explanation.class || "-"));
	add("Load balancer", name(explanation.load_balancer ?? "-"), explanation.provider ? ` by ${clean(explanation.provider)}` : "",
		explanation.state ? `: ${clean(explanation.state)}` : "");
	add("Listens on", (explanation.listeners ?? []).join(", ") || "nothing");
	add("Addresses", ...(explanation.addresses ?? []).flatMap((address, at) => [at ? ", " : "", name(address)]), explanation.addresses ? "" : "none yet");
	for (const tls of explanation.tls ?? [])
		add("TLS", tls.secret ? "Secret " : "", name(tls.secret ?? "the default certificate"), tls.hosts ? " for " : "",
			...(tls.hosts ?? []).flatMap((host, at) => [at ? ", " : "", name(host)]));
	return el("div", {class: "card", "data-key": "facts"}, list);
}

function showExplanation(explanation) {
	const problems = [...(explanation.problems ?? []), ...(explanation.missing ? [{reason: "NotWhole", message: explanation.missing}] : [])];
	const parts = explanation.ours ? [facts(explanation)] : [];
	if (problems.length)
		parts.push(el("div", {"data-key": "problems"}, el("h3", {}, "Problems"), ...problems.map((item) => problem(item.reason, item.message))));
	if (explanation.routes)
		parts.push(el("div", {"data-key": "routes"}, el("h3", {}, "Routes"),
			el("ol", {class: "cards"}, ...explanation.routes.map((route, at) => routeCard(explanation, route, at)))));
	show(document.getElementById("ingress"), parts);
}

async function load(signal) {
	const none = document.getElementById("ingress-none");
	try {
		remedies ??= await ask("reasons", {}, signal);
		showExplanation(await ask("explain", {what: subject}, signal));
		none.hidden = true;
		await showTraffic(subject, signal);
	} catch (error) {
		if (signal.aborted)
			return;
		setText(none, error.message);
		none.hidden = false;
	}
}

export const ingressPage = new Poll(load, 5000);

export function explain(what) {
	subject = what;
	setText(document.getElementById("title-ingress"), `Ingress ${what}`);
	show(document.getElementById("ingress"), []);
	show(document.getElementById("ingress-traffic"), []);
}
