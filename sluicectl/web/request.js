// SPDX-License-Identifier: Apache-2.0
// Asks the line what it would do with a request, and draws the steps in their order.
import {ask} from "./api.js";
import {clean, el, ingressLink, mark, name, setText, show} from "./dom.js";

const form = document.getElementById("ask-form");
const problem = document.getElementById("ask-problem");
const answer = document.getElementById("answer");
let controller;

function step(item) {
	return el("li", {class: item.answers ? "ends" : ""}, el("b", {}, item.step), name(item.what),
		item.ingress && el("p", {class: "quiet"}, "by Ingress ", ingressLink(item.ingress), item.policy ? ` (${clean(item.policy)})` : ""));
}

function header(item) {
	const words = {set: "set", add: "add", remove: "remove"};
	return el("li", {}, item.action ? `${words[item.action]} ` : "", name(item.name + (item.value !== undefined ? `: ${item.value}` : "")));
}

function headers(title, items) {
	return items?.length ? el("div", {}, el("p", {class: "quiet"}, title), el("ul", {}, ...items.map(header))) : undefined;
}

function pool(item, sum) {
	const endpoints = item.endpoints ?? [];
	return el("div", {class: "card"}, el("p", {}, name(item.id), sum > (item.weight ?? 0) ? ` ${item.weight ?? 0} of ${sum}` : "", item.fallback ? " (in place of one without endpoints)" : ""),
		endpoints.length ? el("ul", {"aria-label": "Endpoints"}, ...endpoints.map((endpoint) => {
			const state = endpoint.active ? "good" : "bad";
			return el("li", {}, mark(state, endpoint.active ? "ready" : "not ready"), " ", name(`${endpoint.ip.includes(":") ? `[${endpoint.ip}]` : endpoint.ip}:${endpoint.port}`));
		})) : item.external_name ? el("p", {}, "at ", name(item.external_name)) : el("p", {"data-state": "bad"}, "no endpoint: 503"));
}

function isUnserved(decision) {
	const pools = decision.pools ?? [];
	return !decision.steps?.some((item) => item.answers) && !decision.passed_through &&
		!pools.some((item) => item.external_name || item.endpoints?.some((endpoint) => endpoint.active));
}

function outcome(decision) {
	const unserved = isUnserved(decision);
	const parts = [];
	if (decision.status) {
		parts.push(el("b", {}, `answered with ${decision.status}`), headers("Headers", decision.headers), decision.body && el("pre", {}, decision.body));
	} else {
		const sum = (decision.pools ?? []).reduce((total, item) => total + (item.weight ?? 0), 0);
		parts.push(el("b", {}, decision.passed_through ? "passed through" : "sent to"), ...(decision.pools ?? []).map((item) => pool(item, sum)),
			decision.target && el("p", {}, "is asked for ", name(decision.target), " as host ", name(decision.host_header ?? "")),
			headers("Changes of the request's headers", decision.request_headers), headers("Changes of the answer's headers", decision.response_headers));
	}
	if (decision.limit_status)
		parts.push(el("p", {class: "quiet"}, `${decision.limit_status} once a limit is reached`));
	if (decision.asks_password)
		parts.push(el("p", {class: "quiet"}, "passwords are not checked here"));
	return el("li", {class: unserved ? "outcome unserved" : "outcome"}, ...parts.filter(Boolean));
}

function others(decision) {
	return (decision.questions ?? []).map((item) => el("div", {class: "card"}, el("h3", {}, `${item.role} is asked`),
		el("p", {}, name(`${item.method ?? "GET"} ${item.target ?? ""}`), item.host && " as host ", item.host && name(item.host)), headers("Headers", item.headers)));
}

async function submit() {
	controller?.abort();
	const mine = controller = new AbortController();
	const {method, url, from, headers: lines} = form.elements;
	try {
		const decision = await ask("request", {method: method.value, url: url.value.trim(), from: from.value.trim(), headers: lines.value}, mine.signal);
		problem.hidden = true;
		show(answer, [el("h3", {}, "Steps"), el("ol", {class: "steps"}, ...(decision.steps ?? []).map(step), outcome(decision)), ...others(decision)]);
	} catch (error) {
		if (mine.signal.aborted)
			return;
		setText(problem, error.message);
		problem.hidden = false;
		show(answer, []);
	}
}

form.addEventListener("submit", (event) => {
	event.preventDefault();
	history.replaceState(null, "", "#ask?" + encodeURIComponent(form.elements.url.value));
	submit();
});

export function askFor(url) {
	if (url && url !== form.elements.url.value) {
		form.elements.url.value = url;
		submit();
	}
}
