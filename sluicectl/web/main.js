// SPDX-License-Identifier: Apache-2.0
// Which page is shown, by what stands behind # in the address, and how the line is, which all pages show.
import {ask, Poll, Unanswered} from "./api.js";
import {setText} from "./dom.js";
import {eventsPage, latestEvents} from "./events.js";
import {explain, ingressPage} from "./ingress.js";
import {health, showLine} from "./line.js";
import {List} from "./lists.js";
import {askFor} from "./request.js";
import {findRoutes, routesPage} from "./routes.js";
import {trafficPage} from "./traffic.js";
import {Rates} from "./words.js";

const balancers = new List("balancers", "load-balancers", 5000);
const endpoints = new List("endpoints", "pools", 5000);
const certificates = new List("certificates", "certificates", 30000);

const PAGES = {
	line: {title: "The line", polls: [latestEvents, balancers.poll]},
	routes: {title: "Routes", polls: [routesPage], enter: (_, match) => findRoutes(match)},
	ingress: {title: "Ingress", polls: [ingressPage], enter: (what) => explain(what), tab: "routes"},
	traffic: {title: "Traffic", polls: [trafficPage]},
	ask: {title: "Ask the line", polls: [], enter: (_, url) => askFor(url)},
	endpoints: {title: "Endpoints", polls: [endpoints.poll]},
	certificates: {title: "Certificates", polls: [certificates.poll]},
	events: {title: "Events", polls: [eventsPage]},
};
const STATUS_MS = 2000;
const rates = new Rates();
let current;

function decoded(text) {
	try {
		return text === undefined ? undefined : decodeURIComponent(text);
	} catch {
		return "";
	}
}

// "#ingress/default%2Fweb", "#ask?https%3A%2F%2F..."
function read() {
	const [, page, what, rest] = /^#([a-z]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(location.hash) ?? [];
	return PAGES[page] ? {page, what: decoded(what), rest: decoded(rest)} : {page: "line"};
}

function enter() {
	const {page, what, rest} = read();
	const {title, polls, enter: begin, tab} = PAGES[page];
	for (const poll of PAGES[current]?.polls ?? [])
		poll.stop();
	for (const id of Object.keys(PAGES))
		document.getElementById(`page-${id}`).hidden = id !== page;
	for (const link of document.querySelectorAll("header nav a")) {
		if (link.hash === `#${tab ?? page}`)
			link.setAttribute("aria-current", "page");
		else
			link.removeAttribute("aria-current");
	}
	document.title = `${title} · Sluice`;
	begin?.(what, rest);
	for (const poll of polls)
		poll.start();
	if (current && current !== page)
		document.getElementById("main").focus();
	current = page;
}

function showHealth(state, text) {
	const sign = document.querySelector("#health .mark");
	sign.dataset.state = state;
	setText(sign, {good: "✓", warn: "…", bad: "✗", unknown: "?"}[state]);
	setText(document.getElementById("health-text"), text);
}

async function look(signal) {
	const lost = document.getElementById("lost");
	try {
		const status = await ask("status", {}, signal);
		showLine(status, rates);
		showHealth(...health(status));
		lost.hidden = true;
	} catch (error) {
		if (signal.aborted)
			return;
		showHealth("unknown", "not known");
		setText(lost, error instanceof Unanswered ? `${error.message}. What is shown is old. Trying again.` : `The line cannot be asked: ${error.message}`);
		lost.hidden = false;
	}
}

window.addEventListener("hashchange", enter);
enter();
new Poll(look, STATUS_MS).start();
