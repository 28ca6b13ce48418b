# SPDX-License-Identifier: Apache-2.0
"""One container of a pod through all its restarts."""
import hashlib
import os
import signal
import time

from ..api import names
from . import logs
from .runtime import Refused
from .volumes import NotYet, expand

PATH_ENV = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
_MESSAGE_BYTES = 4096
_BACKOFF_MAX = 300.0


class Container:
    """State is changed by the kubelet's thread only."""

    def __init__(self, pod, spec, init):
        self.pod, self.spec, self.init, self.name = pod, spec, init, spec['name']
        self.n = -1                                    # number of the current run; -1: none yet
        self.state = {'waiting': {'reason': 'PodInitializing' if pod.inits and not init else 'ContainerCreating'}}
        self.last, self.restarts = {}, 0
        self.exit, self.logs_over, self.oom = None, True, False
        self.ready, self.next_start, self.backoff = False, 0.0, 0.0
        self.started_at, self.probe_at, self.probe_fails, self.probing = 0.0, 0.0, 0, False
        self.pull_tries = 0

    @property
    def key(self):
        return '%s/%s/%d' % (self.pod.uid, self.name, self.n)

    @property
    def running(self):
        return 'running' in self.state

    @property
    def terminated(self):
        return self.state.get('terminated')

    def log_file(self, n):
        return os.path.join(self.pod.folder, 'logs', self.name, '%d.log' % n)

    def _message_file(self, n):
        return os.path.join(self.pod.folder, 'term', '%s-%d' % (self.name, n))

    # ------------------------------------------------------------ start
    def user(self):
        """uid, gid and groups; the container's securityContext beats the pod's."""
        pod, own = self.pod.obj['spec'].get('securityContext') or {}, self.spec.get('securityContext') or {}
        uid = own.get('runAsUser', pod.get('runAsUser', 0))
        gid = own.get('runAsGroup', pod.get('runAsGroup', 0))
        groups = list(pod.get('supplementalGroups') or []) + ([pod['fsGroup']] if 'fsGroup' in pod else [])
        return uid, gid, groups

    def process_spec(self, argv, env, cwd):
        sc = self.spec.get('securityContext') or {}
        uid, gid, groups = self.user()
        caps = sc.get('capabilities') or {}
        return {'argv': argv, 'env': env, 'cwd': cwd, 'uid': uid, 'gid': gid, 'groups': groups, 'privileged': sc.get('privileged', False),
                'capAdd': caps.get('add'), 'capDrop': caps.get('drop'), 'noNewPrivs': sc.get('allowPrivilegeEscalation') is False}

    def environment(self):
        env = {'PATH': PATH_ENV, 'HOSTNAME': self.pod.hostname, 'HOME': '/root' if self.user()[0] == 0 else '/'}
        env.update(self.pod.maker.environment(self.pod.obj, self.spec, self.pod.ip, self.pod.service_env()))
        return env

    def start(self):
        """Starts the next run; volumes.NotYet when a reference is missing."""
        env = self.environment()
        argv = [expand(a, env) for a in (self.spec.get('command') or []) + (self.spec.get('args') or [])]
        sc = self.spec.get('securityContext') or {}
        pod_sc = self.pod.obj['spec'].get('securityContext') or {}
        if sc.get('runAsNonRoot', pod_sc.get('runAsNonRoot')) and self.user()[0] == 0:
            raise NotYet('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root (pod: "%s_%s(%s)", container: %s)' % (
                self.pod.name, self.pod.ns, self.pod.uid, self.name))
        if self.n >= 0:
            self.restarts += 1
        self.n += 1
        self.exit, self.oom, self.ready, self.probe_fails = None, False, False, 0
        os.makedirs(os.path.dirname(self.log_file(self.n)), exist_ok=True)
        os.makedirs(os.path.dirname(self._message_file(self.n)), exist_ok=True)
        with open(self._message_file(self.n), 'w'):
            pass
        os.chmod(self._message_file(self.n), 0o666)
        spec = self.process_spec(argv, env, self.spec.get('workingDir') or '/')
        spec.update(base=self.pod.kubelet.root_folder, mask=self.pod.kubelet.masked, files=self.pod.etc_files(), mounts=self._mounts(env),
                    readOnlyRoot=sc.get('readOnlyRootFilesystem', False))
        out_r, out_w = os.pipe2(os.O_CLOEXEC)
        err_r, err_w = os.pipe2(os.O_CLOEXEC)
        uid, gid, _ = self.user()
        for fd in (out_w, err_w):                      # so that /dev/stdout can be opened anew
            os.fchown(fd, uid, gid)
        self.logs_over = False
        self.pod.kubelet.pump.add(self.key, self.log_file(self.n), out_r, err_r)
        try:
            if not argv:
                raise Refused('failed to generate container spec: no command specified')
            started, _ = self.pod.kubelet.runtime.request('start', (out_w, err_w), sandbox=self.pod.uid, key=self.key, spec=spec)
            self.pod.kubelet.runs.setdefault(self.key, {}).update(pod=self.pod.name, container=self.name, began=started['at'],
                                                                  preparation=started['preparation'])
        except Refused as e:
            self.state = {'terminated': {'exitCode': 128, 'reason': 'StartError', 'message': str(e), 'startedAt': '1970-01-01T00:00:00Z',
                                         'finishedAt': names.now(), 'containerID': self.container_id()}}
            self.exit = (128, 0)
            self.pod.event('Failed', 'Error: ' + str(e), 'Warning', self)
            return
        finally:
            os.close(out_w)
            os.close(err_w)
        self.state = {'running': {'startedAt': names.now()}}
        self.started_at = time.monotonic()
        self.probe_at = self.started_at + (self.spec.get('readinessProbe') or {}).get('initialDelaySeconds', 0)
        self.ready = 'readinessProbe' not in self.spec
        self.pod.event('Created', 'Created container: ' + self.name, 'Normal', self)
        self.pod.event('Started', 'Started container ' + self.name, 'Normal', self)

    def _mounts(self, env):
        out = [{'source': self._message_file(self.n), 'target': self.spec['terminationMessagePath']},
               {'source': self.pod.shm_path, 'target': '/dev/shm'}]
        out += [{'source': b, 'target': b} for b in self.pod.kubelet.binds]
        for m in self.spec.get('volumeMounts') or []:
            source = self.pod.sources[m['name']]
            sub = m.get('subPath')
            if m.get('subPathExpr'):
                sub = expand(m['subPathExpr'], env)
            if sub:
                source = os.path.join(source, sub)
                if not os.path.exists(source):
                    os.makedirs(source)
                    os.chmod(source, 0o777)
            if m['mountPath'] == '/dev/shm':
                out = [o for o in out if o['target'] != '/dev/shm']
            out.append({'source': source, 'target': m['mountPath'], 'readOnly': m.get('readOnly') or m['name'] in self.pod.read_only})
        return out

    def container_id(self):
        return 'containerd://' + hashlib.sha256(self.key.encode()).hexdigest()

    # ------------------------------------------------------------ end
    def settle(self):
        """Turns an exit whose output is complete into the terminated state; True when it did."""
        if not self.running or self.exit is None or not self.logs_over:
            return False
        code, number = self.exit
        t = {'exitCode': code, 'reason': 'OOMKilled' if self.oom else 'Completed' if code == 0 else 'Error',
             'startedAt': self.state['running']['startedAt'], 'finishedAt': names.now(), 'containerID': self.container_id()}
        message = b''
        try:
            with open(self._message_file(self.n), 'rb') as f:
                message = f.read(_MESSAGE_BYTES)
        except OSError:
            pass
        if not message and code and self.spec['terminationMessagePolicy'] == 'FallbackToLogsOnError':
            message = logs.tail(self.log_file(self.n), 2048)
        if message:
            t['message'] = message.decode(errors='replace')
        self.state, self.ready = {'terminated': t}, False
        return True

    def signal(self, number):
        if self.running and self.exit is None:
            try:
                self.pod.kubelet.runtime.request('signal', sandbox=self.pod.uid, key=self.key, signal=number)
            except Refused:
                pass                                   # it has just ended

    def kill(self):
        self.signal(signal.SIGKILL)

    def crash_loop(self):
        """After an exit that restarts: the first restart is immediate, later ones wait."""
        first = self.pod.kubelet.backoff
        wait = self.backoff
        self.backoff = min(_BACKOFF_MAX, self.backoff * 2 if self.backoff else first)
        self.next_start = time.monotonic() + wait
        self.last = self.state
        if wait:
            self.state = {'waiting': {'reason': 'CrashLoopBackOff', 'message': 'back-off %ds restarting failed container=%s pod=%s_%s(%s)' % (
                wait, self.name, self.pod.name, self.pod.ns, self.pod.uid)}}
            self.pod.event('BackOff', 'Back-off restarting failed container %s in pod %s_%s(%s)' % (
                self.name, self.pod.name, self.pod.ns, self.pod.uid), 'Warning', self)

    def status(self):
        out = {'name': self.name, 'state': self.state, 'lastState': self.last, 'ready': bool(self.terminated and self.terminated['exitCode'] == 0)
               if self.init else self.running and self.ready, 'restartCount': self.restarts, 'image': self.spec['image'], 'imageID': ''}
        if self.n >= 0:
            out['imageID'] = out['image']
            out['containerID'] = self.container_id()
        if not self.init or self.n >= 0:
            out['started'] = self.running
        return out
