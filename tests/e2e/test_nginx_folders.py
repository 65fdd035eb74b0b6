# SPDX-License-Identifier: Apache-2.0
"""nginx keeps to our folders: those that it was built with may be missing, or somebody else's, and stay as they are."""
from __future__ import annotations

import os
import pwd
import subprocess

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.local_proxy import certificate, host, pool
from lib.nginx import Nginx
from lib.own_disk import IS_ROOT, MountNamespace, can_mount

FOLDERS = ("/var/lib/nginx", "/var/log/nginx")
# What a machine may have in their place.
MOUNTS = {
    "absent": ["mount -t tmpfs tmpfs /var/lib", "mount -t tmpfs tmpfs /var/log"],
    "of somebody else": [f"mkdir -p {folder} && mount -t tmpfs -o mode=700,uid=4321,gid=4321 tmpfs {folder}" for folder in FOLDERS],
    "read-only": [f"mkdir -p {folder} && mount -t tmpfs -o ro tmpfs {folder}" for folder in FOLDERS],
}
WORKERS_USER = "www-data"
pytestmark = pytest.mark.skipif(not can_mount("nginx"), reason="no mount namespaces here")


@pytest.fixture(params=MOUNTS)
def proxy(request):
    own_parent = [f"mount -t tmpfs tmpfs {parent}" for parent in ("/var/lib", "/var/log")] if request.param != "absent" else []
    with Nginx(start=False) as one:
        namespace = MountNamespace(one, *own_parent, *MOUNTS[request.param])
        try:
            one.start()
            one.namespace = namespace
            yield one
        finally:
            namespace.release()


def test_serves_and_leaves_them_alone(proxy):
    with Backend("web") as pod:
        proxy.send(certificate("web", self_signed("web.test"), "web.test"), pool("web", pod), host("web.test", ("/", "web")),
                   proxy.balancer(https=True, default_certificate="web"))
        proxy.commit()
        proxy.wait_applied()
        assert proxy.reached("web.test") == "web" and proxy.reached("web.test", tls=True) == "web"
        # A start from the files that are there, as after a reboot.
        proxy.kill_proxy()
        proxy.wait_answers("web.test")
    for folder in FOLDERS:
        inside = proxy.namespace.path(folder)
        assert not inside.exists() or list(inside.iterdir()) == []
    log = (proxy.proxy_dir / "nginx.log").read_text()
    assert not any(folder in log for folder in FOLDERS), log


def test_workers_can_keep_bodies():
    """Each folder belongs to the workers' user, who reaches it, and to nobody else."""
    with Nginx() as proxy:
        proxy.send(proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        user = pwd.getpwnam(WORKERS_USER).pw_uid if IS_ROOT else os.getuid()
        folders = sorted(path for path in (proxy.state_dir / "temp").iterdir())
        assert [path.name for path in folders] == ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"]
        for path in folders:
            assert path.stat().st_uid == user and path.stat().st_mode & 0o7777 == 0o700
            subprocess.run(["touch", path / "body"], check=True, user=user if IS_ROOT else None)
        # What passes through the state folder sees nothing of it.
        mode = proxy.state_dir.stat().st_mode & 0o7777
        assert mode == (0o711 if IS_ROOT else 0o700)
        assert all(path.stat().st_mode & 0o077 == 0 for path in proxy.state_dir.iterdir() if path.name != "temp")
