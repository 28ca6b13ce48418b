# SPDX-License-Identifier: Apache-2.0
"""Readiness probes: exec, tcpSocket and httpGet, each run in a short thread of its own."""
import http.client
import os
import socket
import threading
import time

from . import linux
from .runtime import Refused


class Prober:
    """`due` and `result` are called by the kubelet's thread; results come back through its queue."""

    def __init__(self, kubelet):
        self.kubelet = kubelet

    def due(self, c, now):
        """Starts the probe when it is time; returns when to look again."""
        probe = c.spec.get('readinessProbe')
        if probe is None or c.probing:
            return None
        if now < c.probe_at:
            return c.probe_at
        c.probing = True
        threading.Thread(target=self._run, args=(c, probe), daemon=True).start()
        return None

    def result(self, c, ok):
        probe = c.spec.get('readinessProbe') or {}
        c.probing, c.probe_at = False, time.monotonic() + probe.get('periodSeconds', 10)
        if ok:
            c.ready, c.probe_fails = c.running, 0

    def _run(self, c, probe):
        try:
            ok = self._once(c, probe)
        except (OSError, ValueError, KeyError, Refused, http.client.HTTPException):
            ok = False
        if not ok:
            c.pod.event('Unhealthy', 'Readiness probe failed', 'Warning', c)
        self.kubelet.post('probe', (c.pod.uid, c.name, ok))

    def _port(self, c, port):
        return port if isinstance(port, int) else next(p['containerPort'] for p in c.spec.get('ports') or [] if p.get('name') == port)

    def _once(self, c, probe):
        seconds = probe.get('timeoutSeconds', 1)
        if 'exec' in probe:
            return self._exec(c, probe['exec'].get('command') or [], seconds)
        if c.pod.netns is not None:
            linux.setns(c.pod.netns)                   # this thread's own namespace from now on
        if 'tcpSocket' in probe:
            socket.create_connection((probe['tcpSocket'].get('host') or c.pod.ip, self._port(c, probe['tcpSocket']['port'])), seconds).close()
            return True
        get = probe['httpGet']
        conn = http.client.HTTPConnection(get.get('host') or c.pod.ip, self._port(c, get['port']), timeout=seconds)
        conn.request('GET', get.get('path', '/'))
        return 200 <= conn.getresponse().status < 400

    def _exec(self, c, command, seconds):
        over, code = threading.Event(), []
        key = 'exec/%s/probe%d' % (c.key, id(over))
        self.kubelet.exec_waits[key] = lambda n: (code.append(n), over.set())
        null = os.open('/dev/null', os.O_RDWR)
        try:
            self.kubelet.runtime.request('exec', (null, null, null), container=c.key, sandbox=c.pod.uid, key=key,
                                         spec=c.process_spec(command, c.environment(), '/'))
            if not over.wait(seconds):
                self.kubelet.runtime.request('signal', key=key, signal=9)
            return code == [0]
        finally:
            os.close(null)
            self.kubelet.exec_waits.pop(key, None)
