# SPDX-License-Identifier: Apache-2.0
"""The whole line with a proxy on this machine at its end: the Kubernetes stand-in, watcher, translator, and a local proxy's provider."""
from __future__ import annotations

from .backend import LOOPBACK
from .cluster import Cluster
from .daemon import Room
from .envtest import kube_server
from .line import ThreeDaemons
from .local_proxy import PATIENCE
from .proxies import proxy_class
from .wait import wait_for


class ProxyLine(ThreeDaemons, Room):
    """Use it as a context manager. `proxy` is the LocalProxy, without its own translator. `translator`, `provider` and `watcher` as arguments
    are more options of theirs; without `reaches_loopback` the translator is as careful as outside of tests."""

    def __init__(self, name: str, http: int | None = None, https: int | None = None, translator: list[str] | None = None,
                 provider: list[str] | None = None, watcher: list[str] | None = None, reaches_loopback: bool = True):
        self.proxy = proxy_class(name)(start=False, arguments=provider)
        self.proxy.translator.stop()
        self.proxy.http, self.proxy.https = http or self.proxy.http, https or self.proxy.https
        self.folder, self.runtime = self.proxy.folder, self.proxy.runtime  # and so there is none of its own to be made
        (self.runtime / "provider.sock").unlink(missing_ok=True)
        self.kube = kube_server()
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.prepare(self.runtime, self.folder, self.kube.controller_kubeconfig, self.proxy.provider, watcher or [],
                     ["--http-port", str(self.proxy.http), "--https-port", str(self.proxy.https), *(LOOPBACK if reaches_loopback else []),
                      *(translator or [])])
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def wait_serves(self, host: str, path: str, name: str, **how: object) -> None:
        """Waits until a request reaches the backend of that name."""
        def arrives() -> bool:
            try:
                return self.proxy.reached(host, path, **how) == name
            except OSError:
                return False
        wait_for(arrives, f"{host}{path} to reach {name}", PATIENCE)

    def stop(self) -> list[str]:
        found = [text for daemon in (self.watcher, self.translator) for text in daemon.end()]
        found += self.proxy.stop()
        self.kube.stop()
        return self.leave(found)
