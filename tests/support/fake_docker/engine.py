# SPDX-License-Identifier: Apache-2.0
"""The engine's objects: images, networks, containers."""
import concurrent.futures
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


def with_tag(image):
    """As the engine shows it: of Docker's own registry, without its name."""
    for registry in ('docker.io/library/', 'docker.io/'):
        image = image.removeprefix(registry)
    return image if ':' in image.rsplit('/', 1)[-1] or '@' in image else image + ':latest'


class Container:
    """Its output is kept as frames; `changed` guards all of it."""

    def __init__(self, engine, name, body):
        self.engine, self.name, self.body = engine, name, body
        self.id, self.created = secrets.token_hex(32), int(time.time())
        self.state, self.code, self.process, self.pid = 'created', None, None, None
        self.frames, self.stdin_taken = [], False
        self.changed = threading.Condition()

    @property
    def host(self):
        return self.body.get('HostConfig') or {}

    def has_labels(self, wanted):
        mine = self.body.get('Labels') or {}
        return all(mine.get(k) == v if sep else k in mine for k, sep, v in (w.partition('=') for w in wanted))

    def spec(self, base):
        mounts = []
        for m in self.host.get('Mounts') or []:
            if m.get('Type') != 'bind' or not os.path.exists(m.get('Source', '')):
                raise Refused(400, 'invalid mount config for type "bind": bind source path does not exist: %s' % m.get('Source'))
            mounts.append({'source': m['Source'], 'target': m['Target'], 'readOnly': m.get('ReadOnly', False)})
        uid, _, gid = (self.body.get('User') or '0').partition(':')
        env = {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root',
               'HOSTNAME': self.body.get('Hostname') or self.id[:12]}
        env.update(e.split('=', 1) for e in self.body.get('Env') or [] if '=' in e)
        return {'mounts': mounts, 'base': base, 'mask': self.engine.hidden, 'files': {}, 'env': env,
                'cwd': self.body.get('WorkingDir') or '/', 'uid': int(uid), 'gid': int(gid or 0),
                'argv': list(self.body.get('Entrypoint') or []) + list(self.body.get('Cmd') or []),
                'hostname': self.body.get('Hostname') or self.id[:12], 'init': bool(self.host.get('Init')),
                'shm': self.host.get('ShmSize') or 64 << 20, 'pid_file': base + '.pid'}

    def add_frame(self, stream, data):
        with self.changed:
            self.frames.append(bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, 'big') + data)
            self.changed.notify_all()

    def write_stdin(self, data):
        """b'' closes it."""
        with self.changed:
            while self.state == 'created':
                self.changed.wait()
            process = self.process
        if process is None:
            return
        try:
            if data:
                process.stdin.write(data)
                process.stdin.flush()
            elif self.body.get('StdinOnce'):
                process.stdin.close()
        except (OSError, ValueError):
            pass

    def kill(self, number):
        with self.changed:
            if self.state != 'running':
                raise Refused(409, 'Cannot kill container: %s: Container %s is not running' % (self.name, self.id))
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:      # it is about to be noticed
                raise Refused(409, 'Cannot kill container: %s: Container %s is not running' % (self.name, self.id)) from None

    def follow(self, first, until_removed=False):
        """Yields frames from number `first` on, until the container has ended and all have been given."""
        while True:
            with self.changed:
                while len(self.frames) <= first and self.state in ('created', 'running'):
                    self.changed.wait()
                if len(self.frames) <= first:
                    return
                new = self.frames[first:]
            first += len(new)
            yield b''.join(new)


class Engine:
    def __init__(self, folder, images, registry, private, hidden):
        self.folder, self.hidden = folder, hidden
        self.images, self.registry, self.private = set(map(with_tag, images)), set(map(with_tag, registry)), set(map(with_tag, private))
        self.lock = threading.RLock()
        self.containers, self.networks = {}, {}
        for name in ('bridge', 'host', 'none'):
            self.add_network({'Name': name, 'Driver': name})
        # What a thread starts dies with the thread, so that one starts all.
        self.starter = concurrent.futures.ThreadPoolExecutor(1)

    def log(self, kind, value):
        with self.lock, open(os.path.join(self.folder, 'log'), 'a') as f:
            f.write(json.dumps([kind, value]) + '\n')

    # ---- networks
    def add_network(self, body):
        with self.lock:
            if any(n['Name'] == body['Name'] for n in self.networks.values()):
                raise Refused(409, 'network with name %s already exists' % body['Name'])
            network = {'Id': secrets.token_hex(32), 'Name': body['Name'], 'Driver': body.get('Driver', 'bridge'),
                       'Labels': body.get('Labels') or {}, 'Scope': 'local', 'Containers': {},
                       'IPAM': {'Driver': 'default', 'Config': [] if body['Name'] in ('host', 'none') else
                                [{'Subnet': '127.0.0.0/8', 'Gateway': '127.0.0.1'}]}}
            self.networks[network['Id']] = network
            return network

    def network(self, name):
        with self.lock:
            for n in self.networks.values():
                if name in (n['Id'], n['Name']):
                    return n
        raise Refused(404, 'network %s not found' % name)

    def remove_network(self, name):
        with self.lock:
            n = self.network(name)
            if n['Name'] in ('bridge', 'host', 'none'):
                raise Refused(403, '%s is a pre-defined network and cannot be removed' % n['Name'])
            if n['Containers']:
                raise Refused(403, 'error while removing network: network %s id %s has active endpoints' % (n['Name'], n['Id']))
            del self.networks[n['Id']]

    # ---- containers
    def container(self, name):
        with self.lock:
            for c in self.containers.values():
                if name == c.name or (len(name) >= 12 and c.id.startswith(name)):
                    return c
        raise Refused(404, 'No such container: %s' % name)

    def create(self, name, body):
        self.log('create', body)
        if with_tag(body.get('Image', '')) not in self.images:
            raise Refused(404, 'No such image: %s' % with_tag(body.get('Image', '')))
        with self.lock:
            for c in self.containers.values():
                if c.name == name:
                    raise Refused(409, 'Conflict. The container name "/%s" is already in use by container "%s". You have to remove '
                                       '(or rename) that container to be able to reuse that name.' % (name, c.id))
            c = Container(self, name, body)
            c.spec('')
            self.containers[c.id] = c
        return c

    def start(self, c):
        with self.lock:
            if c.state == 'running':
                return False
            mode = c.host.get('NetworkMode') or 'default'
            try:
                network = self.network('bridge' if mode == 'default' else mode)
            except Refused:
                self.failed_to_start(c)
                raise
            network['Containers'][c.id] = {'Name': c.name}
        error = self.starter.submit(self._start, c, network).result()
        if error:
            with self.lock:
                network['Containers'].pop(c.id, None)
            self.failed_to_start(c)
            raise Refused(400 if 'exec:' in error else 500, error)
        return True

    def failed_to_start(self, c):
        with c.changed:
            c.code = 127
        if c.host.get('AutoRemove'):
            self.forget(c)

    def _start(self, c, network):
        base = os.path.join(self.folder, c.id[:12])
        os.mkdir(base)
        spec_r, spec_w = os.pipe()
        status_r, status_w = os.pipe()
        p = subprocess.Popen([sys.executable, '-B', os.path.join(HERE, 'container.py'), str(spec_r), str(status_w)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                             pass_fds=(spec_r, status_w), start_new_session=True)
        os.close(spec_r)
        os.close(status_w)
        with os.fdopen(spec_w, 'w') as f:
            json.dump(c.spec(base), f)
        with os.fdopen(status_r, 'rb') as f:
            said = f.read()
        if b'\0' not in said:
            p.kill()
            p.wait()
            os.rmdir(base)
            return said.decode(errors='replace') or 'OCI runtime create failed: it ended'
        while not os.path.exists(base + '.pid'):
            time.sleep(0.002)
        with open(base + '.pid') as f:
            pid = int(f.read())
        os.unlink(base + '.pid')
        with c.changed:
            c.process, c.state, c.pid = p, 'running', pid
            c.changed.notify_all()
        readers = [threading.Thread(target=self._read, args=(c, n, f), daemon=True) for n, f in ((1, p.stdout), (2, p.stderr))]
        for r in readers:
            r.start()
        threading.Thread(target=self._wait, args=(c, network, readers, base), daemon=True).start()
        return None

    @staticmethod
    def _read(c, stream, file):
        for data in iter(lambda: file.read(65536), b''):
            c.add_frame(stream, data)

    def _wait(self, c, network, readers, base):
        code = c.process.wait()
        for r in readers:
            r.join()
        with self.lock:
            network['Containers'].pop(c.id, None)
        os.rmdir(base)
        with c.changed:
            c.state, c.code = 'exited', code & 255
            c.changed.notify_all()
        self.log('exit', [c.name, code])
        if c.host.get('AutoRemove'):
            self.forget(c)

    def forget(self, c):
        with self.lock:
            self.containers.pop(c.id, None)
        with c.changed:
            c.state = 'removed'
            c.code = 128 if c.code is None else c.code
            c.changed.notify_all()

    def remove(self, c, force):
        with c.changed:
            running = c.state == 'running'
        if running and not force:
            raise Refused(409, 'cannot remove container "/%s": container is running: stop the container before removing or force '
                               'remove' % c.name)
        if running:
            c.kill(signal.SIGKILL)
            with c.changed:
                while c.state == 'running':
                    c.changed.wait()
        self.forget(c)

    def stop(self):
        for c in list(self.containers.values()):
            if c.process:
                c.process.kill()
