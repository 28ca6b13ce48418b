# SPDX-License-Identifier: Apache-2.0
"""The container runtime: one single-threaded process, the first of its own pid namespace, so that everything it
started dies with it.  Its network namespace is the cluster's router; nothing of it has a name on the host.

It reads requests (JSON with file descriptors) from a socket and answers in order; exits of containers are reported
as events.  It ends when the socket's other end does.
"""
import json
import os
import select
import signal
import socket
import sys
import time
import traceback

from . import container_init, linux

_MAX_REQUEST = 4 << 20


class Sandbox:
    """A pod's shared namespaces, held open by descriptors; `veth` is the router's end of its link."""

    def __init__(self, fds, veth):
        self.fds, self.veth, self.mounts = fds, veth, []

    def enter(self):
        for fd in self.fds.values():
            linux.setns(fd)


class RuntimeProcess:
    def __init__(self, sock, config):
        self.sock, self.config = sock, config
        self.sandboxes, self.running, self.execs = {}, {}, {}     # running: key -> pid; execs: key -> pid
        self.given = []                                # descriptors that are closed when the reply has been sent
        self.own = {n: os.open('/proc/self/ns/' + n, os.O_RDONLY | os.O_CLOEXEC) for n in ('net', 'ipc', 'uts', 'pid')}

    # ------------------------------------------------------------ start
    def prepare(self):
        linux.unshare(linux.NEWNS)
        linux.mount(None, '/', None, linux.REC | linux.PRIVATE)
        linux.mount('proc', '/proc', 'proc')
        self._try_overlay(self.config['base'])
        if self.config['light']:
            return
        c = self.config
        linux.link_up('lo')
        linux.add_address('lo', c['gateway'])
        for net, prefix in c['local']:
            linux.add_route(net, prefix, 'lo', local=True)
        with open('/proc/sys/net/ipv4/ip_forward', 'w') as f:
            f.write('1')

    @staticmethod
    def _try_overlay(base):
        """OSError now, rather than in each container, where the kernel has no overlay over the root filesystem."""
        linux.mount('tmpfs', base, 'tmpfs', 0, 'mode=755')
        for d in 'uwm':
            os.mkdir(base + '/' + d)
        linux.mount('overlay', base + '/m', 'overlay', 0, 'lowerdir=/,upperdir=%s/u,workdir=%s/w' % (base, base))
        linux.unmount(base + '/m')
        linux.unmount(base)

    # ------------------------------------------------------------ requests
    def op_sandbox(self, r, _fds):
        light = self.config['light']
        linux.unshare(linux.NEWIPC | linux.NEWUTS | (0 if light or r.get('hostNetwork') else linux.NEWNET))
        names = ['ipc', 'uts'] + ([] if light or r.get('hostNetwork') else ['net'])
        fds = {}
        try:
            for n in names:
                fds[n] = os.open('/proc/self/ns/' + n, os.O_RDONLY | os.O_CLOEXEC)
            linux.call('sethostname', r['hostname'].encode(), len(r['hostname']))
            if 'net' in fds:
                linux.link_up('lo')
                linux.setns(self.own['net'])
                linux.add_veth(r['veth'], 'eth0', fds['net'])
                linux.link_up(r['veth'])
                linux.setns(fds['net'])
                linux.add_address('eth0', r['ip'])
                linux.link_up('eth0')
                linux.add_route(self.config['gateway'], 32, 'eth0')
                linux.add_route('0.0.0.0', 0, 'eth0', gateway=self.config['gateway'])
                linux.setns(self.own['net'])
                linux.add_route(r['ip'], 32, r['veth'])
        finally:
            for n in names:
                linux.setns(self.own[n])
        box = self.sandboxes[r['key']] = Sandbox(fds, r.get('veth'))
        for path, options in r['tmpfs']:
            linux.mount('tmpfs', path, 'tmpfs', linux.NOSUID | linux.NODEV, options)
            box.mounts.append(path)
        return {}, [fds['net']] if 'net' in fds else []

    def op_cpu(self, _r, _fds):
        return {'cpu': time.process_time()}, []

    def op_remove(self, r, _fds):
        box = self.sandboxes.pop(r['key'], None)
        if box:
            for path in box.mounts:
                linux.unmount(path)
            for fd in box.fds.values():
                os.close(fd)
        return {}, []

    def op_start(self, r, fds):
        box = self.sandboxes[r['sandbox']]
        er, ew = os.pipe2(os.O_CLOEXEC)
        linux.unshare(linux.NEWPID)
        try:
            box.enter()
            pid = os.fork()
            if pid == 0:
                container_init.run(r['spec'], fds[0], fds[1], ew)
        finally:
            linux.setns(self.own['pid'], linux.NEWPID)
            for n in box.fds:
                linux.setns(self.own[n])
        os.close(ew)
        said = b''
        while True:
            d = os.read(er, 4096)
            if not d:
                break
            said += d
        os.close(er)
        at = time.time()
        preparation, prepared, error = said.partition(b'\0')
        if error or not prepared:
            os.waitpid(pid, 0)
            return {'error': (error or said).decode(errors='replace')}, []
        self.running[r['key']] = pid
        return {'pid': pid, 'at': at, 'preparation': float(preparation)}, []

    def op_signal(self, r, _fds):
        pid = self.running.get(r['key']) or self.execs.get(r['key'])
        if pid:
            os.kill(pid, r['signal'])
        return {'sent': bool(pid)}, []

    def op_exec(self, r, fds):
        pid, box = self.running.get(r['container']), self.sandboxes.get(r['sandbox'])
        if not pid or not box:
            return {'error': 'container not found'}, []
        s = r['spec']
        child = os.fork()
        if child == 0:
            try:
                linux.die_with_parent()
                ns = [os.open('/proc/%d/ns/%s' % (pid, n), os.O_RDONLY) for n in ('pid', 'mnt')]
                box.enter()
                for fd in ns:
                    linux.setns(fd)
                os.setsid()
                inner = os.fork()
                if inner:
                    os.closerange(0, 3)
                    for fd in fds:
                        os.close(fd)
                    _, st = os.waitpid(inner, 0)
                    os._exit(os.WEXITSTATUS(st) if os.WIFEXITED(st) else 128 + os.WTERMSIG(st))
                for i, fd in enumerate(fds):
                    os.dup2(fd, i)
                if r.get('tty'):
                    import fcntl
                    import termios
                    os.setsid()
                    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
                os.chdir(s['cwd'])
                container_init.become(s)
                exe = container_init.find_executable(s['argv'][0], s['env'])
                container_init.default_signals()
                os.closerange(3, 4096)
                os.execve(exe, s['argv'], s['env'])
            except BaseException as e:                 # noqa: the child must not return
                os.write(2, ('OCI runtime exec failed: exec failed: unable to start container process: %s\n' % e).encode())
            os._exit(126)
        self.execs[r['key']] = child
        return {'pid': child}, []

    def op_socket(self, r, _fds):
        box = self.sandboxes.get(r['sandbox'])
        if not box:
            return {'error': 'failed to find sandbox: not found'}, []
        linux.setns(box.fds.get('net', self.own['net']))
        try:
            self.given.append(socket.socket().detach())
        finally:
            linux.setns(self.own['net'])
        return {}, list(self.given)

    # ------------------------------------------------------------ loop
    def reap(self):
        while True:
            try:
                pid, st, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for table in (self.running, self.execs):
                for key in [k for k, p in table.items() if p == pid]:
                    del table[key]
                    self.send({'event': 'exit', 'key': key, 'code': os.WEXITSTATUS(st) if os.WIFEXITED(st) else 128 + os.WTERMSIG(st),
                               'signal': os.WTERMSIG(st) if os.WIFSIGNALED(st) else 0, 'at': time.time(),
                               'cpu': used.ru_utime + used.ru_stime})

    def send(self, obj, fds=()):
        socket.send_fds(self.sock, [json.dumps(obj).encode()], list(fds))

    def serve(self):
        wake_r, wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(n, signal.SIG_IGN)           # the server decides when it ends
        while True:
            ready, _, _ = select.select([self.sock, wake_r], [], [])
            if wake_r in ready:
                os.read(wake_r, 4096)
            self.reap()
            if self.sock not in ready:
                continue
            raw, fds, _, _ = socket.recv_fds(self.sock, _MAX_REQUEST, 8)
            if not raw:
                return
            r = json.loads(raw)
            try:
                reply, back = getattr(self, 'op_' + r['op'])(r, fds)
            except (OSError, KeyError, ValueError) as e:
                reply, back = {'error': '%s failed: %s' % (r['op'], e)}, []
            finally:
                for fd in fds:
                    os.close(fd)
            reply['id'] = r['id']
            self.send(reply, back)
            while self.given:
                os.close(self.given.pop())
            self.reap()


def main(sock, config, pid_pipe):
    """In the forked child of the server; never returns."""
    try:
        linux.die_with_parent()
        if not config['light']:
            linux.unshare(linux.NEWNET)
        linux.unshare(linux.NEWPID)
        pid = os.fork()
        if pid:                                        # stays as the parent of the namespace's first process
            sock.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.write(pid_pipe, b'%d' % pid)
            os.close(pid_pipe)
            os.waitpid(pid, 0)
            os._exit(0)
        os.close(pid_pipe)
        linux.die_with_parent()
        p = RuntimeProcess(sock, config)
        p.prepare()
        p.own = {n: os.open('/proc/self/ns/' + n, os.O_RDONLY | os.O_CLOEXEC) for n in ('net', 'ipc', 'uts', 'pid')}
        p.send({'event': 'started'})
        p.serve()
    except BaseException as e:                         # noqa: reported, then the process ends
        if not isinstance(e, OSError):                 # what the kernel refuses is told by the server
            traceback.print_exc(file=sys.stderr)
        try:
            sock.send(json.dumps({'event': 'failed', 'error': str(e)}).encode())
        except OSError:
            pass
    os._exit(0)
