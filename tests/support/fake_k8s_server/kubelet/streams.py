# SPDX-License-Identifier: Apache-2.0
"""pods/log, pods/exec and pods/portforward."""
import fcntl
import json
import os
import pty
import select
import struct
import termios
import threading
import time

from ..api import errors, websocket
from ..api.names import dig
from . import logs, port_forward
from .runtime import Refused

_POLL = 0.1


class PodStreams:
    """Called by the HTTP server's threads."""

    def __init__(self, kubelet, registry, catalog, stopping):
        self.kubelet, self.registry, self.res, self.stopping = kubelet, registry, catalog['pods'], stopping

    def _container(self, r):
        pod = self.registry.get(self.res, r.ns, r.name)
        spec = pod['spec']
        every = (spec.get('initContainers') or []) + spec['containers']
        name = r.query.get('container') or ''
        if not name:
            name = (pod['metadata'].get('annotations') or {}).get('kubectl.kubernetes.io/default-container', '')
        if not name:
            if len(spec['containers']) > 1 or spec.get('initContainers'):
                inits = ' or one of the init containers: [%s]' % ' '.join(c['name'] for c in spec['initContainers']) if spec.get('initContainers') else ''
                raise errors.bad_request('a container name must be specified for pod %s, choose one of: [%s]%s' % (
                    r.name, ' '.join(c['name'] for c in spec['containers']), inits))
            name = spec['containers'][0]['name']
        if name not in [c['name'] for c in every]:
            raise errors.bad_request('container %s is not valid for pod %s' % (name, r.name))
        worker = self.kubelet.worker(pod['metadata']['uid'])
        return pod, name, worker and next(c for c in worker.containers if c.name == name), worker

    # ------------------------------------------------------------ log
    def log(self, h, r):
        pod, name, c, worker = self._container(r)
        previous = r.query.get('previous') in ('1', 'true')
        n = -1 if c is None else c.n - 1 if previous else c.n
        if not pod['spec'].get('nodeName'):
            h.send_raw(b'', 'text/plain')
            return
        if worker is not None and worker.silent:
            raise errors.internal('Get "https://%s:10250/containerLogs/%s/%s/%s": dial tcp %s:10250: connect: no route to host' % (
                worker.maker.node_ip, r.ns, r.name, name, worker.maker.node_ip))
        if n < 0:
            if previous:
                raise errors.bad_request('previous terminated container "%s" in pod "%s" not found' % (name, r.name))
            wait = next((dig(s, 'state.waiting') or {} for k in ('initContainerStatuses', 'containerStatuses')
                         for s in pod['status'].get(k) or [] if s['name'] == name), {})
            reason = wait.get('reason', 'ContainerCreating')
            text = 'image can\'t be pulled' if 'Image' in reason else reason
            if reason in ('ErrImagePull', 'ImagePullBackOff'):
                text = 'trying and failing to pull image'
            raise errors.bad_request('container "%s" in pod "%s" is waiting to start: %s' % (name, r.name, text))
        try:
            limit = int(r.query['limitBytes']) if 'limitBytes' in r.query else None
            last = int(r.query['tailLines']) if 'tailLines' in r.query else None
            since = r.query.get('sinceTime', '')
            if 'sinceSeconds' in r.query:
                since = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() - int(r.query['sinceSeconds'])))
        except ValueError as e:
            raise errors.bad_request(str(e)) from None
        follow, stamps = r.query.get('follow') in ('1', 'true'), r.query.get('timestamps') in ('1', 'true')
        self._send_log(h, c, n, limit, last, since, follow, stamps)

    def _send_log(self, h, c, n, limit, last, since, follow, stamps):
        epoch = h.server.parts.faults.watch_epoch
        try:
            file = open(c.log_file(n), 'rb')
        except FileNotFoundError:   # it is about to be started
            raise errors.bad_request('container "%s" in pod "%s" is waiting to start: ContainerCreating' % (
                c.name, c.pod.name)) from None
        h.send_response(200)
        h.send_header('Content-Type', 'text/plain')
        h.send_header('Transfer-Encoding', 'chunked')
        h.end_headers()
        h.wfile.flush()

        def put(data):
            nonlocal limit
            if limit is not None:
                data = data[:limit]
                limit -= len(data)
            if data:
                h.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        with file as f:
            rest, plain = b'', logs.Plain(stamps, since)
            first = True
            while True:
                alive = c.n == n and (c.running or not c.logs_over) and not c.pod.removed
                lines = (rest + f.read()).split(b'\n')
                rest = lines.pop()
                if first and last is not None:
                    lines = lines[-last:] if last else []
                first = False
                put(b''.join(map(plain, lines)))
                h.wfile.flush()
                if not follow or not alive or limit == 0 or self.stopping.is_set():
                    break
                if h.server.parts.faults.watch_epoch != epoch:
                    h.close_connection = True
                    return
                readable, _, _ = select.select([h.request], [], [], _POLL)
                if readable and not h.request.pending():
                    h.request.settimeout(0.2)
                    try:
                        if not h.request.recv(1):
                            h.close_connection = True
                            return
                    except OSError:
                        h.close_connection = True
                        return
                    finally:
                        h.request.settimeout(h.timeout)
        h.wfile.write(b'0\r\n\r\n')
        h.wfile.flush()

    @staticmethod
    def _upgrade(h, head):
        h.send_response(101)
        for k, v in head.items():
            h.send_header(k, v)
        h.end_headers()
        h.wfile.flush()
        h.close_connection = True

    # ------------------------------------------------------------ port-forward
    def port_forward(self, h, r):
        pod = self.registry.get(self.res, r.ns, r.name)
        if not pod['spec'].get('nodeName'):
            raise errors.bad_request('pod %s does not have a host assigned' % r.name)
        worker = self.kubelet.worker(pod['metadata']['uid'])
        if worker is None or worker.removed or not worker.made:
            raise errors.internal('error upgrading connection: pod "%s_%s" not found' % (r.name, r.ns))
        head, link = port_forward.negotiate(h)
        self._upgrade(h, head)
        faults = h.server.parts.faults
        epoch = faults.watch_epoch
        port_forward.PortForward(self.kubelet, worker, h.request, link, lambda: self.stopping.is_set() or faults.watch_epoch != epoch).run()

    # ------------------------------------------------------------ exec
    def exec(self, h, r):
        pod, name, c, worker = self._container(r)
        command = h.query_lists.get('command', [])
        if not command:
            raise errors.bad_request('you must specify at least 1 command for the container')
        if pod['status'].get('phase') in ('Succeeded', 'Failed'):
            raise errors.bad_request('cannot exec into a container in a completed pod; current phase is ' + pod['status']['phase'])
        if c is None or not c.running:
            raise errors.internal('unable to upgrade connection: container not found ("%s")' % name)
        head, protocol = websocket.accept_headers(h.headers) if h.headers.get('Upgrade', '').lower() == 'websocket' else (None, None)
        if head is None:
            raise errors.bad_request('Upgrade request required')
        self._upgrade(h, head)
        Exec(self.kubelet, c, command, websocket.WebSocket(h.request),
             {k: r.query.get(k) in ('1', 'true') for k in ('stdin', 'stdout', 'stderr', 'tty')}).run()


class Exec:
    """One command in a running container, its streams on a WebSocket."""

    def __init__(self, kubelet, container, command, io, want):
        self.kubelet, self.c, self.command, self.io, self.want = kubelet, container, command, io, want
        self.input = None

    def run(self):
        key = 'exec/%s/%d' % (self.c.key, id(self))
        over = threading.Event()
        code = []
        self.kubelet.exec_waits[key] = lambda n: (code.append(n), over.set())
        env = dict(self.c.environment(), TERM='xterm') if self.want['tty'] else self.c.environment()
        spec = self.c.process_spec(self.command, env, self.c.spec.get('workingDir') or '/')
        fds, outs = self._files()
        try:
            self.kubelet.runtime.request('exec', fds, container=self.c.key, sandbox=self.c.pod.uid, key=key, spec=spec, tty=self.want['tty'])
        except Refused as e:
            self._status({'status': 'Failure', 'reason': 'InternalError', 'message': str(e), 'code': 500})
            return
        finally:
            for fd in fds:
                os.close(fd)
        pumps = [threading.Thread(target=self._pump, args=o, daemon=True) for o in outs]
        feeder = threading.Thread(target=self._feed, args=(key,), daemon=True)
        for t in pumps + [feeder]:
            t.start()
        over.wait()
        del self.kubelet.exec_waits[key]
        for t in pumps:
            t.join(2)
        n = code[0]
        self._status({'status': 'Success'} if n == 0 else {
            'status': 'Failure', 'reason': 'NonZeroExitCode', 'message': 'command terminated with non-zero exit code: error executing command %s, exit code %d'
            % (self.command, n), 'details': {'causes': [{'reason': 'ExitCode', 'message': str(n)}]}})

    def _files(self):
        if self.want['tty']:
            master, slave = pty.openpty()
            self.input = master
            return [slave, os.dup(slave), os.dup(slave)], [(master, websocket.STDOUT)]
        in_r, in_w = os.pipe2(os.O_CLOEXEC)
        out_r, out_w = os.pipe2(os.O_CLOEXEC)
        err_r, err_w = os.pipe2(os.O_CLOEXEC)
        if self.want['stdin']:
            self.input = in_w
        else:
            os.close(in_w)
        return [in_r, out_w, err_w], [(out_r, websocket.STDOUT), (err_r, websocket.STDERR)]

    def _pump(self, fd, channel):
        wanted = self.want['stdout' if channel == websocket.STDOUT else 'stderr']
        try:
            while True:
                d = os.read(fd, 32768)
                if not d:
                    break
                if wanted:
                    self.io.send(channel, d)
        except (OSError, ValueError):
            pass                                       # the terminal's end, or the client's
        if not self.want['tty']:
            os.close(fd)

    def _close_input(self):
        fd, self.input = self.input, None
        if fd is not None:
            os.close(fd)

    def _feed(self, key):
        try:
            for channel, d in self.io.messages():
                if channel == websocket.STDIN and self.input is not None and d:
                    while d:
                        d = d[os.write(self.input, d):]
                elif channel == websocket.CLOSE and d[:1] == b'\0' and not self.want['tty']:
                    self._close_input()
                elif channel == websocket.RESIZE and self.want['tty'] and self.input is not None:
                    z = json.loads(d)
                    fcntl.ioctl(self.input, termios.TIOCSWINSZ, struct.pack('HHHH', z['Height'], z['Width'], 0, 0))
        except (OSError, ValueError, EOFError, KeyError):
            pass
        self._close_input()

    def _status(self, status):
        try:
            self.io.send(websocket.ERROR, json.dumps(dict({'metadata': {}}, **status)).encode())
            self.io.close()
        except (OSError, ValueError):
            pass
