# SPDX-License-Identifier: Apache-2.0
"""One pod on its node, from binding to removal: a state machine that the kubelet's thread steps."""
import os
import random
import shutil
import signal
import time

from ..api import names
from .container import Container
from .runtime import Refused
from .volumes import Maker, NotYet

_NEVER_PULLS = 'does-not-exist'
_RETRY = 0.5
_STOP_SECONDS = 0.1                                    # from the start of a container to its SIGTERM, at least: kubelets are not faster


class Pod:
    """Members are touched by the kubelet's thread only, but for `wake`, which any thread may call."""

    def __init__(self, kubelet, obj):
        self.kubelet, self.obj = kubelet, obj
        m, spec = obj['metadata'], obj['spec']
        self.uid, self.ns, self.name, self.node = m['uid'], m['namespace'], m['name'], spec['nodeName']
        self.hostname = (spec.get('hostname') or m['name'])[:63]
        self.folder = os.path.join(kubelet.pods_folder, self.uid)
        self.ip, self.inits = '', spec.get('initContainers') or []
        self.containers = [Container(self, c, True) for c in self.inits] + [Container(self, c, False) for c in spec['containers']]
        self.maker = Maker(kubelet.store, kubelet.credentials, self.folder, kubelet.pvc_folder, kubelet.node_ip(self.node))
        self.sources, self.read_only, self.netns = {}, {v['name'] for v in spec.get('volumes') or [] if 'secret' in v or 'configMap' in v
                                                       or 'projected' in v or 'downwardAPI' in v}, None
        self.not_before = time.monotonic() + kubelet.start_delay(obj)
        self.made, self.phase, self.gone, self.removed = False, 'Pending', False, False
        self.kill_at, self.terminating, self.killed = None, False, False
        self.reason, self.message = None, None
        self.condition, self.silent, self.reported = None, False, None
        self.deadline = time.monotonic() + spec['activeDeadlineSeconds'] if spec.get('activeDeadlineSeconds') else None
        self._complaint, self.refresh_at = None, None

    @property
    def shm_path(self):
        return os.path.join(self.folder, 'shm')

    # ------------------------------------------------------------ what containers see
    def service_env(self):
        return self.kubelet.service_env(self.ns, self.obj['spec'].get('enableServiceLinks', True))

    def etc_files(self):
        spec = self.obj['spec']
        hosts = '# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n'
        name = self.hostname
        if spec.get('subdomain'):
            name = '%s.%s.%s.svc.cluster.local\t%s' % (self.hostname, spec['subdomain'], self.ns, self.hostname)
        hosts += '%s\t%s\n' % (self.ip, name)
        for a in spec.get('hostAliases') or []:
            hosts += '%s\t%s\n' % (a['ip'], '\t'.join(a.get('hostnames') or []))
        resolv = 'search %s.svc.cluster.local svc.cluster.local cluster.local\nnameserver %s\noptions ndots:5 timeout:1 attempts:2\n' % (
            self.ns, self.kubelet.network.dns_ip)
        return {'/etc/hosts': hosts, '/etc/hostname': self.hostname + '\n', '/etc/resolv.conf': resolv}

    def event(self, reason, message, kind='Normal', container=None):
        if self.silent:
            return
        path = '' if container is None else 'spec.%s{%s}' % ('initContainers' if container.init else 'containers', container.name)
        self.kubelet.events.emit(self.obj, reason, message, kind, 'kubelet', self.node, path)

    def complain(self, reason, message):
        """A warning event, once per text."""
        if self._complaint != (reason, message):
            self._complaint = (reason, message)
            self.event(reason, message, 'Warning')

    # ------------------------------------------------------------ steps
    def step(self):
        """Does what can be done now; returns the time (monotonic) of the next step, or None to wait for news."""
        if self.removed:
            return None
        now = time.monotonic()
        for c in self.containers:
            if c.settle():
                self.kubelet.network.forget_listeners(self.ip)
        if self.silent:
            return None
        if self.gone:
            return self._finish_gone()
        meta = self.obj['metadata']
        if meta.get('deletionTimestamp') and not self.terminating:
            soonest = max((c.started_at for c in self.containers if c.running), default=0) + _STOP_SECONDS
            if now < soonest:
                return soonest
            self._terminate(meta.get('deletionGracePeriodSeconds', 30))
        if self.deadline and now >= self.deadline and not self.terminating and self.phase in ('Pending', 'Running'):
            self.fail('DeadlineExceeded', 'Pod was active on the node longer than the specified deadline')
        if self.terminating:
            return self._step_terminating(now)
        if now < self.not_before:
            return self.not_before
        if not self.made and not self._make():
            self.report()
            return now + _RETRY
        if self.refresh_at and now >= self.refresh_at:
            self.refresh_at = None
            self.maker.refresh(self.obj)
        following = self._advance(now)
        self._phase()
        self.report()
        if self.phase in ('Succeeded', 'Failed'):
            self._release()
        times = [t for t in (following, self.deadline, self.refresh_at) if t is not None]
        return min(times) if times else None

    def _make(self):
        try:
            for d in ('volumes', 'shm', 'logs', 'term'):
                os.makedirs(os.path.join(self.folder, d), exist_ok=True)
            self.sources, tmpfs = self.maker.make(self.obj)
            if self.obj['spec'].get('hostNetwork'):
                self.ip = self.kubelet.node_ip(self.node)
            self.ip = self.ip or self.kubelet.network.take_address(self.node)
            tmpfs.append((self.shm_path, 'mode=1777,size=65536k'))
            _, fds = self.kubelet.runtime.request('sandbox', key=self.uid, hostname=self.hostname, ip=self.ip, tmpfs=tmpfs,
                                                  veth='v%08x' % random.getrandbits(32), hostNetwork=self.obj['spec'].get('hostNetwork', False))
        except NotYet as e:
            self.complain(e.reason, str(e))
            return False
        except (Refused, OSError) as e:
            self.complain('FailedCreatePodSandBox', 'Failed to create pod sandbox: %s' % e)
            return False
        self.netns = fds[0] if fds else None
        self.kubelet.network.add_pod(self.ip, self.netns)
        self.made = True
        return True

    def _pull(self, c, now):
        """Whether the image is there; sets the waiting state and the events of a pull that fails."""
        image = c.spec['image']
        if _NEVER_PULLS not in image and not self.kubelet.pull_fails(image):
            if c.pull_tries >= 0:
                c.pull_tries = -1
                if c.spec['imagePullPolicy'] == 'Always':
                    self.event('Pulling', 'Pulling image "%s"' % image, 'Normal', c)
                    self.event('Pulled', 'Successfully pulled image "%s" in 10ms (10ms including waiting). Image size: 1048576 bytes.' % image, 'Normal', c)
                else:
                    self.event('Pulled', 'Container image "%s" already present on machine' % image, 'Normal', c)
            return True
        if c.next_start > now:
            return False
        text = 'failed to pull and unpack image "%s": failed to resolve reference "%s": %s: not found' % (image, image, image)
        if c.pull_tries % 2 == 0:
            self.event('Pulling', 'Pulling image "%s"' % image, 'Normal', c)
            self.event('Failed', 'Failed to pull image "%s": rpc error: code = NotFound desc = %s' % (image, text), 'Warning', c)
            self.event('Failed', 'Error: ErrImagePull', 'Warning', c)
            c.state = {'waiting': {'reason': 'ErrImagePull', 'message': 'rpc error: code = NotFound desc = ' + text}}
            c.next_start = now + 0.5
        else:
            self.event('BackOff', 'Back-off pulling image "%s"' % image, 'Normal', c)
            self.event('Failed', 'Error: ImagePullBackOff', 'Warning', c)
            c.state = {'waiting': {'reason': 'ImagePullBackOff', 'message': 'Back-off pulling image "%s": ErrImagePull: %s' % (image, text)}}
            c.next_start = now + self.kubelet.backoff * 2 ** (c.pull_tries // 2)
        c.pull_tries += 1
        return False

    def _restarts(self, c):
        policy = self.obj['spec']['restartPolicy']
        code = c.terminated['exitCode']
        return policy == 'Always' and not c.init or policy != 'Never' and code != 0

    def _try_start(self, c, now):
        """Starts the container if it is due; the time of the next try, or None."""
        if not self._pull(c, now):
            return c.next_start
        if c.next_start > now:
            return c.next_start
        try:
            c.start()
        except NotYet as e:
            c.state = {'waiting': {'reason': e.reason, 'message': str(e)}}
            self.complain('Failed', 'Error: ' + str(e))
            c.next_start = now + _RETRY
            return c.next_start
        return None if c.running else now

    def _advance(self, now):
        times = []
        for c in self.containers:
            if c.init:
                if c.terminated and c.terminated['exitCode'] == 0:
                    continue
                if c.terminated and not self._restarts(c):
                    return None                        # the pod has failed
            elif c.terminated and not self._restarts(c):
                continue
            if c.terminated and c.exit is not None:
                c.crash_loop()
                c.exit = None
            if not c.running:
                for other in self.containers:
                    if not other.init and other.state.get('waiting', {}).get('reason') == 'PodInitializing' and not c.init:
                        other.state = {'waiting': {'reason': 'ContainerCreating'}}
                times.append(self._try_start(c, now))
            if c.running and not c.ready and not c.init:
                times.append(self.kubelet.prober.due(c, now))
            if c.init:
                break                                  # the next one waits for this one
        times = [t for t in times if t is not None]
        return min(times) if times else None

    def _phase(self):
        inits, mains = [c for c in self.containers if c.init], [c for c in self.containers if not c.init]
        done = lambda c: c.terminated and not self._restarts(c)
        if any(done(c) and c.terminated['exitCode'] != 0 for c in inits):
            self.phase = 'Failed'
        elif all(done(c) for c in mains):
            self.phase = 'Failed' if any(c.terminated['exitCode'] for c in mains) else 'Succeeded'
        elif any(c.n >= 0 for c in mains):
            self.phase = 'Running'

    # ------------------------------------------------------------ end
    def fail(self, reason, message):
        """Ends the pod with phase Failed and the reason, as an eviction by the kubelet does."""
        self.reason, self.message = reason, message
        self._terminate(self.obj['spec'].get('terminationGracePeriodSeconds', 30))

    def _terminate(self, grace):
        self.terminating = True
        running = [c for c in self.containers if c.running]
        self.kill_at = time.monotonic() + grace
        for c in running:
            self.event('Killing', 'Stopping container ' + c.name, 'Normal', c)
            c.signal(signal.SIGTERM)

    def _step_terminating(self, now):
        grace = self.obj['metadata'].get('deletionGracePeriodSeconds')
        if self.obj['metadata'].get('deletionTimestamp') and grace is not None:
            self.kill_at = min(self.kill_at, max(now, now + names.seconds_of(self.obj['metadata']['deletionTimestamp']) - time.time()) if grace else now)
        alive = [c for c in self.containers if c.running]
        if alive:
            if now >= self.kill_at and not self.killed:
                self.killed = True
                for c in alive:
                    c.kill()
            self.report()
            return None if self.killed else self.kill_at
        if self.phase in ('Pending', 'Running'):
            mains = [c for c in self.containers if not c.init]
            clean = self.reason is None and all(c.terminated and c.terminated['exitCode'] == 0 for c in mains)
            self.phase = 'Succeeded' if clean else 'Failed'
            for c in self.containers:
                if c.n < 0:
                    c.state = {'terminated': {'exitCode': 137, 'reason': 'ContainerStatusUnknown', 'startedAt': None, 'finishedAt': None,
                                              'message': 'The container could not be located when the pod was terminated'}} if self.made else c.state
        self._release()
        self.report()
        if self.obj['metadata'].get('deletionTimestamp'):
            self.kubelet.delete_now(self.obj)
        return None

    def _finish_gone(self):
        """The object was removed by force: processes are killed at once."""
        alive = [c for c in self.containers if c.running]
        if alive:
            if not self.killed:
                self.killed = True
                for c in alive:
                    c.kill()
            return None
        self._release()
        self.forget()
        return None

    def _release(self):
        """Gives back the network and the mounts; logs stay until the object goes."""
        if not self.made:
            return
        self.made = False
        self.kubelet.network.remove_pod(self.ip, self.netns)
        self.netns = None
        try:
            self.kubelet.runtime.request('remove', key=self.uid)
        except Refused:
            pass

    def forget(self):
        self.removed = True
        shutil.rmtree(self.folder, ignore_errors=True)
        self.kubelet.forget(self)

    # ------------------------------------------------------------ report
    def conditions(self, old):
        mains = [c for c in self.containers if not c.init]
        over = self.phase in ('Succeeded', 'Failed')
        inited = all(c.terminated and c.terminated['exitCode'] == 0 for c in self.containers if c.init)
        unready = [c.name for c in mains if not (c.running and c.ready)]
        ready = not unready and not over
        reason = 'PodCompleted' if self.phase == 'Succeeded' else 'PodFailed' if self.phase == 'Failed' else 'ContainersNotReady'
        message = None if over else 'containers with unready status: [%s]' % ' '.join(unready)
        want = [('PodReadyToStartContainers', self.made, None, None),
                ('Initialized', inited, None if inited else 'ContainersNotInitialized',
                 None if inited else 'containers with incomplete status: [%s]' % ' '.join(
                     c.name for c in self.containers if c.init and not (c.terminated and c.terminated['exitCode'] == 0))),
                ('Ready', ready, None if ready else reason, None if ready else message),
                ('ContainersReady', ready, None if ready else reason, None if ready else message)]
        have = {c['type']: c for c in old}
        out = []
        for kind, value, reason, message in want:
            c = {'type': kind, 'status': 'True' if value else 'False', 'lastProbeTime': None}
            if reason:
                c['reason'] = reason
            if message:
                c['message'] = message
            before = have.get(kind)
            c['lastTransitionTime'] = before['lastTransitionTime'] if before and before['status'] == c['status'] else names.now()
            out.append(c)
        own = {c['type'] for c in out}
        return [c for c in old if c['type'] not in own] + out

    def report(self):
        """Writes the pod's status if it has changed."""
        if self.silent:
            return
        def fill(o):
            st = o['status']
            st['phase'] = self.phase
            for k, v in (('reason', self.reason), ('message', self.message)):
                if v:
                    st[k] = v
            st.setdefault('startTime', names.now())
            st['hostIP'] = self.kubelet.node_ip(self.node)
            st['hostIPs'] = [{'ip': st['hostIP']}]
            if self.ip:
                st['podIP'], st['podIPs'] = self.ip, [{'ip': self.ip}]
            st['conditions'] = self.conditions(st.get('conditions') or [])
            if self.inits:
                st['initContainerStatuses'] = [c.status() for c in self.containers if c.init]
            st['containerStatuses'] = [c.status() for c in self.containers if not c.init]
        new = self.kubelet.registry.change(self.kubelet.pods_resource, self.obj, fill)
        if new is not None:
            self.obj = new
