# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together and runs them until told to stop."""
import fcntl
import os
import random
import shutil
import signal
import socket
import threading

from .api.authorization import Authorizer
from .api.credentials import Credentials
from .api.faults import Faults
from .api.http_server import Server
from .api.registry import Registry
from .api.resources import Catalog
from .api.store import Store
from .api.strategies import Strategies
from .api.special import Special
from .control import Control
from .controllers.cluster import ClusterControllers, make_node
from .controllers.events import Events
from .controllers.garbage import GarbageCollector
from .controllers.job import JobController
from .controllers.scheduler import Scheduler
from .kubelet.kubelet import Kubelet, Settings
from .kubelet.network import Network
from .kubelet.runtime import Runtime
from .kubelet.streams import PodStreams

_STATE = ('pods', 'pvc', 'root', 'users')


class Busy(Exception):
    """Another server uses the folder."""


def lock_folder(folder):
    """Takes the folder for this process; the kernel gives it back when the process ends, however it ends."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(folder, 0o700)
    fd = os.open(os.path.join(folder, 'lock'), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise Busy('a fake_k8s_server runs in %s; stop it, or give another --dir' % folder) from None
    return fd


def clean_folder(folder):
    """Removes what a server left behind.  Processes, namespaces, devices and mounts went with it."""
    for name in _STATE:
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    for name in ('control', 'ready'):
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            pass


def pick_octet(light):
    """The second octet of the pods' addresses and a socket that reserves it on this host (light: loopback is shared)."""
    if not light:
        return 244, None
    for octet in random.sample(range(16, 240), 200):
        s = socket.socket()
        try:
            s.bind(('127.%d.0.1' % octet, 10250))
            return octet, s
        except OSError:
            s.close()
    raise OSError('no free loopback range 127.x.0.0/16 for the pods')


class Parts:
    """What the HTTP handlers use."""


class FakeServer:
    """`options` are the command line's.  Construct it before any thread exists."""

    def __init__(self, options):
        self.options, folder = options, os.path.abspath(options.dir)
        self.folder = folder
        self._lock = lock_folder(folder)
        clean_folder(folder)
        os.makedirs(os.path.join(folder, 'root'))
        octet, self._guard = pick_octet(options.light)
        gateway, local = Network.routes(octet)
        self.runtime = Runtime({'light': options.light, 'base': os.path.join(folder, 'root'), 'gateway': gateway, 'local': local})
        try:
            self._build(folder, octet)
        except BaseException:
            self.runtime.stop()
            raise

    def _build(self, folder, octet):
        o, p = self.options, Parts()
        self.parts = p
        p.stopping = threading.Event()
        p.store, p.faults, p.catalog = Store(o.window), Faults(), Catalog(o.install)
        network = self.network = Network(p.store, octet, o.light, o.dns, self.runtime.pid)
        p.credentials = Credentials(os.path.join(folder, 'users'), [o.address, 'localhost', 'kubernetes.default.svc', 'kubernetes', network.api_ip])
        rules = Strategies(p.store, p.catalog, network.services)
        p.registry = Registry(p.store, p.catalog, rules)
        p.authorizer = Authorizer(p.store)
        events = Events(p.registry, p.catalog)
        self.settings = Settings()
        self.kubelet = Kubelet(p.store, p.registry, p.catalog, p.credentials, self.runtime, network, events, folder, self.settings, o.backoff, o.bind,
                               o.refresh)
        self.cluster = ClusterControllers(p.store, p.registry, p.catalog, events, self.kubelet, p.credentials.ca_pem, o.node_grace, o.time_scale)
        self.scheduler = Scheduler(p.store, p.registry, p.catalog, events)
        jobs = JobController(p.store, p.registry, p.catalog, events, o.job_backoff, o.time_scale)
        garbage = GarbageCollector(p.store, p.registry, p.catalog)
        p.special = Special(p.registry, p.catalog, p.authorizer, p.credentials, self.cluster, self.scheduler)
        p.pod_streams = PodStreams(self.kubelet, p.registry, p.catalog, p.stopping)
        self.http = Server((o.address, o.port), p.credentials.server_context(), p)
        self.url = 'https://%s:%d' % self.http.server_address[:2]
        network.api_address, network.api_server = self.http.server_address[:2], self.http
        self.controllers = [self.cluster, self.scheduler, jobs, garbage]
        p.store.listeners += [c.changed for c in self.controllers] + [self.kubelet.changed]
        self._fill(network)
        self.control = Control(self, os.path.join(folder, 'control'))

    def _fill(self, network):
        """The objects that a new cluster has."""
        p, o = self.parts, self.options
        get = lambda plural: p.catalog[plural]
        for ns in ['default', 'kube-system'] + [n for n in o.namespace if n != 'default']:
            p.registry.create(get('namespaces'), '', {'metadata': {'name': ns}})
            self.cluster._namespaces('', ns)
        for name, value in (('system-cluster-critical', 2000000000), ('system-node-critical', 2000001000)):
            p.registry.create(get('priorityclasses'), '', {'metadata': {'name': name}, 'value': value})
        p.registry.create(get('services'), 'default', {'metadata': {'name': 'kubernetes'}, 'spec': {
            'clusterIP': network.api_ip, 'ports': [{'name': 'https', 'port': 443, 'targetPort': 6443}]}})
        for n in range(o.nodes):
            p.registry.create(get('nodes'), '', make_node(n, o.zones, o.gpus, o.cpu, o.memory, network.node_ip(n)))
        self.kubeconfig = p.credentials.user(self.url, 'admin', ('system:masters',), o.namespace[0], certificate=True)
        p.credentials.user(self.url, 'boss', ('system:masters',), o.namespace[0])
        for user in o.rbac_user:
            p.credentials.user(self.url, user, ('team',), o.namespace[0])

    def run(self, announce):
        """Serves until SIGTERM or SIGINT; `announce` is called when requests are answered."""
        for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(n, lambda *_: self.parts.stopping.set())
        try:
            self.network.start()
            self.kubelet.start()
            for c in self.controllers:
                c.loop.start()
            threading.Thread(target=self.http.serve_forever, kwargs={'poll_interval': 0.2}, name='https', daemon=True).start()
            self.control.start()
            announce()
            while not self.parts.stopping.wait(3600):
                pass
        finally:
            self.stop()

    def stop(self):
        self.parts.stopping.set()
        self.control.stop()
        self.runtime.stop()
        self.http.server_close()
        clean_folder(self.folder)
