# SPDX-License-Identifier: Apache-2.0
"""Addresses, ClusterIPs and DNS, in the router's network namespace (or, light, on loopback addresses).

A ClusterIP is refused unless a pod behind it listens: the proxy looks at the pods' sockets and listens on the
ClusterIP only while some endpoint does, since a proxy that accepts first would hide what a client of a real cluster
sees.  One thread runs an event loop for all of it.
"""
import asyncio
import os
import random
import socket
import struct
import threading

from ..api.names import dig
from . import dns, linux

_POLL = 0.05
_LISTEN = '0A'


class ClusterIPs:
    """The addresses of Services.  Calls are made under the store's lock."""

    def __init__(self, prefix, light):
        self._prefix, self._light, self._used, self._next = prefix, light, set(), 20
        self.cidr = prefix + ('.250.0/24' if light else '.0.0/16')

    def _address(self, n):
        return '%s.250.%d' % (self._prefix, n) if self._light else '%s.%d.%d' % (self._prefix, n // 250, n % 250 + 1)

    def take(self):
        while True:
            self._next = (self._next + 1) % (250 if self._light else 60000)
            ip = self._address(max(self._next, 20))
            if ip not in self._used:
                self._used.add(ip)
                return ip

    def inside(self, ip):
        return ip.startswith(self._prefix + '.')

    def claim(self, ip):
        if ip in self._used or not self.inside(ip):
            return False
        self._used.add(ip)
        return True

    def give_back(self, ip):
        self._used.discard(ip)


class Network(threading.Thread):
    """`take_address`, `add_pod`, `remove_pod` may be called by any thread."""

    def __init__(self, store, octet, light, dns, runtime_pid):
        super().__init__(name='network', daemon=True)
        self.store, self.light, self.dns = store, light, dns
        self.prefix = '127.%d' % octet if light else '10.%d' % octet
        self.gateway = '127.0.0.1' if light else self.prefix + '.0.1'
        self.services = ClusterIPs(self.prefix if light else '10.96', light)
        self.api_ip, self.dns_ip = self.services._address(1), self.services._address(9)
        self._lock, self._pods, self._used, self._cursor = threading.Lock(), {}, set(), {}
        self._loop, self._listeners = None, {}             # (vip, port) -> asyncio server
        self._router = None if light else os.open('/proc/%d/ns/net' % runtime_pid, os.O_RDONLY | os.O_CLOEXEC)
        self.api_address, self.api_server = None, None     # where the API's ClusterIP leads
        self._ready = threading.Event()

    @staticmethod
    def routes(octet):
        """What the router owns: its gateway and nodes, and all ClusterIPs."""
        return '10.%d.0.1' % octet, [('10.%d.0.0' % octet, 24), ('10.96.0.0', 16)]

    def node_ip(self, n):
        return '%s.0.%d' % (self.prefix, 11 + n)

    def take_address(self, node):
        n = int(node.rsplit('-', 1)[1]) + 10 if node.rsplit('-', 1)[-1].isdigit() else 10
        with self._lock:
            for _ in range(250):
                k = self._cursor[n] = self._cursor.get(n, 0) % 250 + 1
                ip = '%s.%d.%d' % (self.prefix, n % 240, k)
                if ip not in self._used:
                    self._used.add(ip)
                    return ip
        raise OSError('no free pod address on %s' % node)

    def add_pod(self, ip, netns):
        with self._lock:
            self._pods[ip] = netns

    def remove_pod(self, ip, netns):
        with self._lock:
            self._pods.pop(ip, None)
            self._used.discard(ip)
            if netns is not None:
                os.close(netns)

    def forget_listeners(self, _ip):
        """A container ended: look again at once."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._look)

    # ------------------------------------------------------------ endpoints
    def endpoints(self, svc):
        """[(ip, {port: target})] of the pods behind a Service."""
        spec, out = svc['spec'], []
        selector = spec.get('selector')
        if not selector:
            return out
        for p in self.store.list('pods', svc['metadata']['namespace']):
            st, labels = p.get('status') or {}, p['metadata'].get('labels') or {}
            if not st.get('podIP') or st.get('phase') in ('Succeeded', 'Failed') or any(labels.get(k) != v for k, v in selector.items()):
                continue
            ready = any(c['type'] == 'Ready' and c['status'] == 'True' for c in st.get('conditions') or [])
            if not spec.get('publishNotReadyAddresses') and (not ready or p['metadata'].get('deletionTimestamp')):
                continue
            out.append((st['podIP'], {q['port']: self._target_port(p, q) for q in spec.get('ports') or []}, p))
        return out

    @staticmethod
    def _target_port(pod, port):
        t = port.get('targetPort', port['port'])
        if isinstance(t, int):
            return t
        for c in pod['spec']['containers']:
            for p in c.get('ports') or []:
                if p.get('name') == t:
                    return p['containerPort']
        return None

    def _listens(self, ip, port):
        """Whether a socket in the pod's namespace listens on the port at this address or at all."""
        with self._lock:
            if ip not in self._pods:
                return False
            ns = self._pods[ip]
            if ns is not None:
                linux.setns(ns)
            try:
                return self._in_table('/proc/thread-self/net/tcp', ip, port) or self._in_table('/proc/thread-self/net/tcp6', ip, port)
            finally:
                if ns is not None:
                    linux.setns(self._router)

    def _in_table(self, path, ip, port):
        try:
            with open(path) as f:
                lines = f.read().split('\n')[1:]
        except OSError:
            return False
        want = '%08X' % struct.unpack('=I', socket.inet_aton(ip))[0]
        for line in lines:
            cols = line.split()
            if len(cols) > 3 and cols[3] == _LISTEN:
                host, p = cols[1].split(':')
                if int(p, 16) == port and (host == want or host[-8:] == want and len(host) == 32 or set(host) == {'0'} and not self.light):
                    return True
        return False

    # ------------------------------------------------------------ proxy
    def _look(self):
        """Opens and closes the listeners on ClusterIPs to match what listens behind them."""
        want = {(self.api_ip, 443): [self.api_address]}
        for svc in self.store.list('services'):
            vip = dig(svc, 'spec.clusterIP')
            if not vip or vip == 'None' or vip == self.api_ip:
                continue
            for ip, ports, _ in self.endpoints(svc):
                for port, target in ports.items():
                    if target and self._listens(ip, target):
                        want.setdefault((vip, port), []).append((ip, target))
        for key in [k for k in self._listeners if k not in want]:
            s = self._listeners.pop(key)[0]
            self._loop.remove_reader(s.fileno())       # or the next socket of this number would never be read
            s.close()
        for key, targets in want.items():
            if key in self._listeners:
                self._listeners[key][1][:] = targets
                continue
            try:
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(key)
                s.listen(1024)
                s.setblocking(False)
            except OSError:
                continue                               # tried again at the next look
            live = list(targets)
            self._listeners[key] = (s, live)
            self._loop.create_task(self._accept(s, live))

    async def _accept(self, s, targets):
        while True:
            try:
                conn, _ = await self._loop.sock_accept(s)
            except OSError:
                return
            self._loop.create_task(self._serve(conn, targets))

    async def _serve(self, conn, targets):
        conn.setblocking(False)
        host, port = random.choice(targets)
        if (host, port) == self.api_address and not self.light:
            return self._to_host(conn)
        out = socket.socket()
        out.setblocking(False)
        try:
            await asyncio.wait_for(self._loop.sock_connect(out, (host, port)), 10)
        except (OSError, asyncio.TimeoutError):
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))   # a reset, not an end
            conn.close()
            out.close()
            return None
        for s in (conn, out):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(self._copy(conn, out), self._copy(out, conn))
        conn.close()
        out.close()
        return None

    async def _copy(self, a, b):
        try:
            while True:
                d = await self._loop.sock_recv(a, 65536)
                if not d:
                    b.shutdown(socket.SHUT_WR)
                    return
                await self._loop.sock_sendall(b, d)
        except OSError:
            for s in (a, b):
                try:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _to_host(self, conn):
        """The API server's socket is in the host's namespace: its thread pool takes the connection itself."""
        conn.setblocking(True)
        self.api_server.process_request(conn, conn.getpeername())

    # ------------------------------------------------------------ loop
    def run(self):
        if self._router is not None:
            linux.setns(self._router)
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._loop.create_task(self._watch())
        if not self.light:
            self._loop.create_task(dns.serve(self._loop, self, self.dns_ip))
        self._ready.set()
        self._loop.run_forever()

    async def _watch(self):
        while True:
            try:
                self._look()
            except OSError:
                pass                                   # a pod went while it was looked at
            await asyncio.sleep(_POLL)
