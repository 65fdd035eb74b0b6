# SPDX-License-Identifier: Apache-2.0
"""What Rancher offers to a client of its Kubernetes: the metadata, and a certificate of the service kubernetes/kubernetes. The first requests
are refused."""
from __future__ import annotations

import base64
import http.server
import io
import json
import threading
import urllib.parse
import uuid
import zipfile

METADATA = "/2015-12-19/stacks/Kubernetes/services/kubernetes/uuid"
SERVICE = "1s42"


class Certificates:
    def __init__(self, access_key: str, secret_key: str, authority: str, key: bytes, refusals: int = 1) -> None:
        self.uuid = str(uuid.uuid4())
        self.refusals = refusals
        self._authorization = "Basic " + base64.b64encode(f"{access_key}:{secret_key}".encode()).decode()
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
            for name, content in (("ca.pem", authority.encode()), ("cert.pem", b"its certificate\n"), ("key.pem", key)):
                files.writestr(name, content)
        self._archive = archive.getvalue()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}/v1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, target: str, authorization: str | None) -> tuple[int, bytes]:
        where = urllib.parse.urlsplit(target)
        query = urllib.parse.parse_qs(where.query)
        if self.refusals > 0:
            self.refusals -= 1
            return 503, b"not now"
        if (method, where.path) == ("GET", METADATA):
            return 200, self.uuid.encode()
        if authorization != self._authorization:
            return 401, b"no"
        if (method, where.path, query) == ("GET", "/v1/services", {"uuid": [self.uuid]}):
            # As behind a proxy: the client cannot use the address that the answer names.
            action = f"http://192.0.2.1/v1/services/{SERVICE}/?action=certificate"
            return 200, json.dumps({"data": [{"id": SERVICE, "actions": {"certificate": action}}]}).encode()
        if (method, where.path, query) == ("POST", f"/v1/services/{SERVICE}/", {"action": ["certificate"]}):
            return 200, self._archive
        return 404, b"no"

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        certificates = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                status, body = certificates.answer(self.command, self.path, self.headers.get("Authorization"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *_: object) -> None:  # pylint: disable=arguments-differ
                pass

        return Handler
