// SPDX-License-Identifier: Apache-2.0

// Package ext is where a build of Traefik may add to its routers. It is a module of its own that is not published; nothing is added here.
package ext

type HTTP struct{}

type Router struct{}
