// SPDX-License-Identifier: Apache-2.0

// Package auth has the functions that Traefik's middlewares for basic and digest authentication call, and refuses everybody: Traefik has
// them from a fork that not every proxy for modules serves, and no route of the benchmark has such a middleware.
package auth

import "net/http"

type SecretProvider func(user, realm string) string

func CheckSecret(_, _ string) bool {
	return false
}

type BasicAuth struct {
	Realm   string
	Secrets SecretProvider
}

func (*BasicAuth) RequireAuth(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}

type DigestAuth struct{}

func NewDigestAuthenticator(_ string, _ SecretProvider) *DigestAuth {
	return &DigestAuth{}
}

func DigestAuthParams(_ string) map[string]string {
	return nil
}

func (*DigestAuth) CheckAuth(_ *http.Request) (string, *string) {
	return "", nil
}

func (*DigestAuth) RequireAuth(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}

func (*DigestAuth) RequireAuthStale(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}
