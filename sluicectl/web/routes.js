// SPDX-License-Identifier: Apache-2.0
// Routes of Ingresses: found by sluicectl, a part at a time, so that ten thousand of them cost this page no more than fifty.
import {ask, Poll} from "./api.js";
import {clean, el, ingressLink, mark, name, setText, show} from "./dom.js";

const form = document.getElementById("routes-form");
const before = document.getElementById("routes-before");
const after = document.getElementById("routes-after");
const TYPING_MS = 200;
let skip = 0;

export function routeState(explanation, route) {
	if (!explanation.ours)
		return ["unknown", "not ours"];
	return route?.served ? ["good", "served"] : ["bad", clean(route?.reason ?? "not served")];
}

export function place(route) {
	return el("span", {}, name((route.host ?? "*") + (route.path ?? "")), route.path ? "" : " (what no rule takes)",
		route.match === "exact" ? " exactly" : "", route.tls_only ? ", HTTPS only" : "");
}

function ready(route) {
	const all = route.endpoints ?? [];
	return `${all.filter((endpoint) => endpoint.state === "ready").length}/${all.length}`;
}

function row(key, cells) {
	const labels = ["", "Ingress", "Service", "Endpoints", "State"];
	return el("tr", {"data-key": key}, ...cells.map((cell, at) => el("td", {"data-label": labels[at]}, cell)));
}

function state(explanation, route) {
	const [health, word] = routeState(explanation, route);
	return el("span", {"data-state": health}, mark(health, word), ` ${word}`);
}

function rows(explanation) {
	const what = `${explanation.namespace}/${explanation.name}`;
	const routes = explanation.routes ?? [];
	if (!routes.length)
		return [row(what, ["-", ingressLink(what), "-", "-", state(explanation, {reason: explanation.problems?.[0]?.reason})])];
	return routes.map((route, at) => row(`${what} ${at}`,
		[place(route), ingressLink(what), route.service ? name(route.service) : "-", route.endpoints ? ready(route) : "-", state(explanation, route)]));
}

function part() {
	return Number(form.elements.limit.value);
}

async function load(signal) {
	const match = form.elements.match.value.trim();
	let found;
	try {
		found = await ask("routes", {match, skip, limit: part()}, signal);
	} catch (error) {
		if (!signal.aborted)
			setText(document.getElementById("routes-count"), error.message);
		return;
	}
	if (skip && skip >= found.matches) {
		skip = 0; // they have gone meanwhile
		return load(signal);
	}
	const shown = found.ingresses.length;
	setText(document.getElementById("routes-count"), found.matches === 0 ? (match ? "No Ingress fits." : "There is no Ingress.")
		: `Ingresses ${(skip + 1).toLocaleString("en")} to ${(skip + shown).toLocaleString("en")} of ${found.matches.toLocaleString("en")}${match ? " that fit" : ""}`);
	show(document.getElementById("routes"), found.ingresses.flatMap(rows));
	before.disabled = skip === 0;
	after.disabled = skip + shown >= found.matches;
}

export const routesPage = new Poll(load, 10000);

let typing;
function restart() {
	skip = 0;
	clearTimeout(typing);
	typing = setTimeout(() => {
		history.replaceState(null, "", "#routes" + (form.elements.match.value ? "?" + encodeURIComponent(form.elements.match.value) : ""));
		routesPage.now();
	}, TYPING_MS);
}

function move(by) {
	skip = Math.max(0, skip + by * part());
	routesPage.now();
	document.getElementById("title-routes").scrollIntoView();
}

form.elements.match.addEventListener("input", restart);
form.elements.limit.addEventListener("change", restart);
form.addEventListener("submit", (event) => {
	event.preventDefault();
	restart();
});
before.addEventListener("click", () => move(-1));
after.addEventListener("click", () => move(1));

export function findRoutes(match) {
	if (match !== undefined && match !== form.elements.match.value) {
		form.elements.match.value = match;
		skip = 0;
	}
}
