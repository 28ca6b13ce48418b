# SPDX-License-Identifier: Apache-2.0
"""Injections and statistics over a unix socket (mode 0600) in the server's folder: one JSON line each way."""
import json
import os
import socket
import threading
import time

from .api import errors
from .controllers.cluster import disrupt

_MAX_LINE = 1 << 20


def call(folder, command, **args):
    """The client's side; RuntimeError with the server's text when it refuses."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        try:
            s.connect(os.path.join(folder, 'control'))
        except OSError as e:
            raise RuntimeError('no fake_k8s_server answers in %s (%s); start one with --dir %s' % (folder, e.strerror, folder)) from None
        s.sendall(json.dumps(dict(args, command=command)).encode() + b'\n')
        with s.makefile('rb') as f:
            line = f.readline()
    if not line:
        raise RuntimeError('the fake_k8s_server in %s ended before it answered' % folder)
    answer = json.loads(line)
    if 'error' in answer:
        raise RuntimeError(answer['error'])
    return answer['result']


class Control(threading.Thread):
    def __init__(self, server, path):
        super().__init__(name='control', daemon=True)
        self.server, self.path = server, path
        self.sock = socket.socket(socket.AF_UNIX)
        old = os.umask(0o177)
        try:
            self.sock.bind(path)
        finally:
            os.umask(old)
        self.sock.listen(16)

    def stop(self):
        self.sock.close()

    def run(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        with conn, conn.makefile('rb') as f:
            conn.settimeout(30)
            try:
                r = json.loads(f.readline(_MAX_LINE))
                do = getattr(self, 'do_' + str(r.pop('command', '')).replace('-', '_'), None)
                if do is None:
                    raise ValueError('no such command')
                out = {'result': do(**r)}
            except errors.ApiError as e:
                out = {'error': e.message}
            except (ValueError, TypeError, KeyError, OSError) as e:
                out = {'error': '%s: %s' % (type(e).__name__, e)}
            try:
                conn.sendall(json.dumps(out).encode() + b'\n')
            except OSError:
                pass                                   # the client did not wait

    # ------------------------------------------------------------ commands
    def _pod(self, pod):
        ns, _, name = pod.rpartition('/')
        p = self.server.parts
        return p.registry.get(p.catalog['pods'], ns or self.server.options.namespace[0], name)

    def do_stats(self, reset=False):
        return self.server.parts.faults.stats(reset)

    def do_runs(self):
        """Runs of containers: when the first process began (its exec) and ended, in seconds of the epoch; its CPU seconds with
        its children's, of which `preparation` was before the exec.  And the CPU seconds of the cluster itself."""
        s = self.server
        runtime, _ = s.runtime.request('cpu')
        return {'runs': [dict(r) for r in list(s.kubelet.runs.values())], 'server_cpu': time.process_time(), 'runtime_cpu': runtime['cpu']}

    def do_fault(self, **rule):
        self.server.parts.faults.add(**rule)

    def do_clear(self):
        """Ends all injections but nodes that are down."""
        s = self.server
        s.parts.faults.clear()
        s.parts.authorizer.restore()
        s.settings.start_delay.clear()
        s.settings.pull_fail.clear()
        s.scheduler.unschedulable.clear()
        s.scheduler.loop.add('all')

    def do_cut_watches(self, compact=False):
        if compact:
            self.server.parts.store.compact()
        self.server.parts.faults.cut_watches()

    def do_compact(self):
        self.server.parts.store.compact()

    def do_delay(self, prefix, least, most):
        self.server.settings.start_delay[prefix] = (float(least), float(most))

    def do_pull_fail(self, image):
        self.server.settings.pull_fail.append(image)

    def do_unschedulable(self, prefix):
        self.server.scheduler.unschedulable.append(prefix)

    def do_evict(self, pod):
        self.server.cluster.evict(self._pod(pod), 'EvictionByEvictionAPI', 'Eviction API: evicting')

    def do_preempt(self, pod):
        self.server.cluster.evict(self._pod(pod), 'PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod')

    def do_pressure(self, pod):
        """The kubelet evicts the pod: it stays, as Failed with reason Evicted."""
        s, o = self.server, self._pod(pod)
        disrupt(s.parts.registry, s.parts.catalog['pods'], o, 'TerminationByKubelet', 'The node was low on resource: memory.')
        s.kubelet.post('fail', (o['metadata']['uid'], 'Evicted', 'The node was low on resource: memory.'))

    def do_delete(self, pod, grace=None):
        o, p = self._pod(pod), self.server.parts
        p.registry.delete(p.catalog['pods'], o['metadata']['namespace'], o['metadata']['name'], {} if grace is None else {'gracePeriodSeconds': int(grace)})

    def do_kill(self, pod, oom=False):
        self.server.kubelet.post('kill', (self._pod(pod)['metadata']['uid'], oom))

    def do_oom(self, pod):
        self.do_kill(pod, True)

    def do_node_down(self, node, evict_after=None):
        self.server.cluster.node_down(node, tolerate=evict_after)

    def do_node_up(self, node):
        self.server.cluster.node_down(node, up=True)

    def do_drop_right(self, user, verb='*', resource='*'):
        self.server.parts.authorizer.drop(user, verb, resource)

    def do_dns(self, on):
        self.server.network.dns = bool(on)

    def do_stop(self):
        self.server.parts.stopping.set()
