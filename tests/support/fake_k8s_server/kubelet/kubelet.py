# SPDX-License-Identifier: Apache-2.0
"""All nodes' kubelets: one thread steps the pods that are bound to nodes."""
import heapq
import os
import queue
import random
import threading
import time

from ..api import errors
from ..api.names import dig
from .logs import LogPump
from .pod import Pod
from .prober import Prober


_VOLUME_KINDS = {'secrets': 'secret', 'configmaps': 'configMap'}


class Settings:
    """What injections change while the server runs."""

    def __init__(self):
        self.start_delay, self.pull_fail = {}, []     # pod-name prefix -> (least, most) seconds; substrings of images


class Kubelet(threading.Thread):
    """`changed`, `post` may be called by any thread."""

    def __init__(self, store, registry, catalog, credentials, runtime, network, events, folder, settings, backoff, binds, refresh):
        super().__init__(name='kubelet', daemon=True)
        self.store, self.registry, self.credentials, self.runtime = store, registry, credentials, runtime
        self.network, self.events, self.settings, self.backoff, self.binds, self.refresh = network, events, settings, backoff, binds, refresh
        self.pods_resource = catalog['pods']
        self.pods_folder, self.pvc_folder = os.path.join(folder, 'pods'), os.path.join(folder, 'pvc')
        self.root_folder = os.path.join(folder, 'root')
        self.masked = [folder, os.path.expanduser('~/.kube')]
        for d in (self.pods_folder, self.pvc_folder, self.root_folder):
            os.makedirs(d, exist_ok=True)
        self.pump = LogPump(lambda key: self._queue.put(('logs', key)))
        self.prober = Prober(self)
        self.exec_waits, self._pods, self._down = {}, {}, set()
        self.runs = {}                                 # container key -> when it began and ended, its CPU seconds: see Control
        self._queue, self._timers, self._number = queue.SimpleQueue(), [], 0
        runtime.on_exit = self._exited

    # ------------------------------------------------------------ asked by others
    def worker(self, uid):
        return self._pods.get(uid)

    def node_ip(self, node):
        digits = node.rsplit('-', 1)[-1]
        return self.network.node_ip(int(digits) if digits.isdigit() else 0)

    def pull_fails(self, image):
        return any(s in image for s in self.settings.pull_fail)

    def start_delay(self, pod):
        for prefix, (least, most) in self.settings.start_delay.items():
            if pod['metadata']['name'].startswith(prefix):
                return random.uniform(least, most)
        return 0.0

    def service_env(self, ns, links):
        out = {}
        services = [s for s in self.store.list('services', ns)] if links else []
        kubernetes = self.store.get('services', 'default', 'kubernetes')
        for s in services + ([kubernetes] if kubernetes and ns != 'default' or not links and kubernetes else []):
            ip = dig(s, 'spec.clusterIP')
            if not ip or ip == 'None' or not s['spec'].get('ports'):
                continue
            p = s['spec']['ports'][0]
            k = s['metadata']['name'].upper().replace('-', '_')
            tcp = '%s_PORT_%d_%s' % (k, p['port'], p['protocol'])
            url = '%s://%s:%d' % (p['protocol'].lower(), ip, p['port'])
            out.update({k + '_SERVICE_HOST': ip, k + '_SERVICE_PORT': str(p['port']), k + '_PORT': url, tcp: url, tcp + '_PROTO': p['protocol'].lower(),
                        tcp + '_PORT': str(p['port']), tcp + '_ADDR': ip})
            for q in s['spec']['ports']:
                if q.get('name'):
                    out['%s_SERVICE_PORT_%s' % (k, q['name'].upper().replace('-', '_'))] = str(q['port'])
        return out

    def delete_now(self, pod):
        try:
            self.registry.delete(self.pods_resource, pod['metadata']['namespace'], pod['metadata']['name'],
                                 {'gracePeriodSeconds': 0, 'preconditions': {'uid': pod['metadata']['uid']}})
        except errors.ApiError:
            pass                                       # it is gone already

    def forget(self, pod):
        self._pods.pop(pod.uid, None)

    # ------------------------------------------------------------ news
    def changed(self, res, change):
        """A listener of the store."""
        if res == 'pods' and dig(change.obj, 'spec.nodeName'):
            self._queue.put(('pod', change))
        elif res in _VOLUME_KINDS and change.type == 'MODIFIED':
            self._queue.put(('volume', (_VOLUME_KINDS[res], change.obj['metadata'])))

    def post(self, kind, value):
        self._queue.put((kind, value))

    def _exited(self, key, code, number, at, cpu):
        if key in self.exec_waits:
            self.exec_waits[key](code)
        else:
            self.runs.setdefault(key, {}).update(ended=at, cpu=cpu)
            self._queue.put(('exit', (key, code, number)))

    def _container(self, key):
        uid, name, n = key.split('/')
        pod = self._pods.get(uid)
        if pod:
            for c in pod.containers:
                if c.name == name and c.n == int(n):
                    return pod, c
        return None, None

    def _take(self, kind, value):
        """The pod that the news concerns, or None."""
        if kind == 'pod':
            return self._pod_changed(value)
        if kind == 'exit':
            pod, c = self._container(value[0])
            if c:
                c.exit = value[1:]
            return pod
        if kind == 'logs':
            pod, c = self._container(value)
            if c:
                c.logs_over = True
            return pod
        if kind == 'probe':
            uid, name, ok = value
            pod = self._pods.get(uid)
            if pod:
                self.prober.result(next(c for c in pod.containers if c.name == name), ok)
            return pod
        if kind == 'kill':
            uid, oom = value
            pod = self._pods.get(uid)
            for c in pod.containers if pod else ():
                if c.running:
                    c.oom = oom
                    c.kill()
            return pod
        if kind == 'fail':
            pod = self._pods.get(value[0])
            if pod and not pod.terminating:
                pod.fail(*value[1:])
            return pod
        if kind == 'node':
            self._node(*value)
        if kind == 'volume':
            self._volume_changed(*value)
        return None

    def _volume_changed(self, kind, meta):
        """A kubelet looks at its pods' volumes from time to time."""
        for pod in self._pods.values():
            if pod.ns == meta['namespace'] and not pod.refresh_at and pod.maker.uses(pod.obj, kind, meta['name']):
                pod.refresh_at = time.monotonic() + self.refresh
                self._schedule(pod, pod.refresh_at)

    def _pod_changed(self, change):
        uid = change.obj['metadata']['uid']
        pod = self._pods.get(uid)
        if change.type == 'DELETED':
            if pod:
                pod.gone = True
                if pod.made is False and not any(c.running for c in pod.containers):
                    pod.forget()
                    return None
            return pod
        if pod is None:
            if dig(change.obj, 'status.phase') in ('Succeeded', 'Failed') or change.obj['metadata'].get('deletionTimestamp') \
                    and change.obj['metadata'].get('deletionGracePeriodSeconds') == 0:
                return None
            pod = self._pods[uid] = Pod(self, change.obj)
            pod.silent = pod.node in self._down
        if int(change.obj['metadata']['resourceVersion']) > int(pod.obj['metadata']['resourceVersion']):
            pod.obj = change.obj
        return pod

    def _node(self, name, up):
        """A node that is down loses its processes at once and reports nothing until it is up."""
        (self._down.discard if up else self._down.add)(name)
        for pod in [p for p in self._pods.values() if p.node == name]:
            pod.silent = not up
            if not up:
                for c in pod.containers:
                    c.kill()
            self._schedule(pod, time.monotonic())

    # ------------------------------------------------------------ loop
    def _schedule(self, pod, when):
        self._number += 1
        heapq.heappush(self._timers, (when, self._number, pod))

    def _step(self, pod):
        if pod.removed:
            return
        try:
            following = pod.step()
        except Exception:                              # noqa: one pod's trouble must not stop the others
            import traceback
            traceback.print_exc()
            following = time.monotonic() + 1
        if following is not None:
            self._schedule(pod, following)

    def run(self):
        self.pump.start()
        self.runtime.start()
        while True:
            try:
                wait = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
                kind, value = self._queue.get(timeout=wait)
                pods = {id(p): p for p in [self._take(kind, value)] if p}
                while not self._queue.empty():
                    p = self._take(*self._queue.get())
                    if p:
                        pods[id(p)] = p
                for p in pods.values():
                    self._step(p)
            except queue.Empty:
                pass
            while self._timers and self._timers[0][0] <= time.monotonic():
                self._step(heapq.heappop(self._timers)[2])
