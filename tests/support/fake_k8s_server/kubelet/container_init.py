# SPDX-License-Identifier: Apache-2.0
"""What runs between fork and exec of a container's first process: mounts, user, capabilities.

The root is a copy-on-write view of the host's root filesystem, so that what is installed on the host is "in the
image"; the upper layer is in memory and goes with the container.
"""
import os
import signal
import stat
import time

from . import linux
from .linux import BIND, NODEV, NOEXEC, NOSUID, PRIVATE, RDONLY, REC, REMOUNT, mount

_CAPS = ('CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE '
         'NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT '
         'SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE '
         'AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ '
         'PERFMON BPF CHECKPOINT_RESTORE').split()
_DEFAULT_CAPS = set('CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_RAW '
                    'SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP'.split())
_RUNC = ('failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: '
         'unable to start container process: ')


def _devices(m, shm):
    old = os.umask(0)
    mount('tmpfs', m + '/dev', 'tmpfs', NOSUID, 'mode=755,size=65536k')
    for n, a, b in (('null', 1, 3), ('zero', 1, 5), ('full', 1, 7), ('random', 1, 8), ('urandom', 1, 9), ('tty', 5, 0)):
        os.mknod(m + '/dev/' + n, stat.S_IFCHR | 0o666, os.makedev(a, b))
    for n, t in (('fd', '/proc/self/fd'), ('stdin', '/proc/self/fd/0'), ('stdout', '/proc/self/fd/1'),
                 ('stderr', '/proc/self/fd/2'), ('ptmx', 'pts/ptmx')):
        os.symlink(t, m + '/dev/' + n)
    os.mkdir(m + '/dev/pts')
    os.mkdir(m + '/dev/shm')
    if shm:
        mount('tmpfs', m + '/dev/shm', 'tmpfs', NOSUID | NODEV | NOEXEC, 'mode=1777,size=%d' % shm)
    mount('devpts', m + '/dev/pts', 'devpts', NOSUID | NOEXEC, 'newinstance,ptmxmode=0666,mode=0620')
    os.umask(old)


def _bind(fd, v):
    target = v['target']
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            open(target, 'w').close()
    mount('/proc/self/fd/%d' % fd, target, None, BIND | REC)
    if v.get('readOnly'):
        mount(None, target, None, BIND | REMOUNT | RDONLY)


def _root(s):
    """Makes the root and moves into it.  Sources are opened first, so that no path is resolved in two roots."""
    mount(None, '/', None, REC | PRIVATE)
    fds = [(os.open(v['source'], os.O_PATH), v) for v in s['mounts']]
    base = s['base']
    mount('tmpfs', base, 'tmpfs', 0, 'mode=755')
    for d in 'uwm':
        os.mkdir(base + '/' + d, 0o755)
    m = base + '/m'
    mount('overlay', m, 'overlay', 0, 'lowerdir=/,upperdir=%s/u,workdir=%s/w' % (base, base))
    mount('proc', m + '/proc', 'proc', NOSUID | NODEV | NOEXEC)
    mount('/sys', m + '/sys', None, BIND | REC)
    _devices(m, s.get('shm'))
    mount('tmpfs', m + '/run', 'tmpfs', NOSUID | NODEV, 'mode=755')
    host = os.open('/', os.O_PATH)
    os.chroot(m)
    os.chdir('/')
    for p in s['mask']:
        if os.path.isdir(p):
            mount('tmpfs', p, 'tmpfs', 0, 'mode=755,size=4k')
    for path, text in s['files'].items():
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, 'w') as f:
            f.write(text)
    for fd, v in sorted(fds, key=lambda x: x[1]['target'].count('/')):
        _bind(fd, v)
        os.close(fd)
    os.makedirs(s['cwd'], exist_ok=True)
    os.fchdir(host)
    os.chroot('.')
    os.close(host)
    os.chdir(m)
    linux.pivot_root('.', '.')
    linux.unmount('.')
    os.chdir('/')
    if s.get('readOnlyRoot'):
        mount(None, '/', None, BIND | REMOUNT | RDONLY)


def become(s):
    """Takes the container's user, groups and capabilities."""
    if not s.get('privileged'):
        add, drop = set(s.get('capAdd') or []), set(s.get('capDrop') or [])
        keep = add if 'ALL' in drop else (_DEFAULT_CAPS | add) - drop
        for i, c in enumerate(_CAPS):
            if c not in keep and 'ALL' not in add:
                linux.libc.prctl(24, i, 0, 0, 0)       # PR_CAPBSET_DROP
    if s.get('noNewPrivs'):
        linux.libc.prctl(38, 1, 0, 0, 0)
    os.setgroups(s.get('groups') or [])
    os.setgid(s['gid'])
    os.setuid(s['uid'])


def find_executable(name, env):
    if '/' in name:
        if not os.path.exists(name):
            raise OSError('exec: "%s": stat %s: no such file or directory: unknown' % (name, name))
        if not os.access(name, os.X_OK) or os.path.isdir(name):
            raise OSError('exec: "%s": permission denied: unknown' % name)
        return name
    for d in env.get('PATH', '').split(':'):
        p = os.path.join(d, name)
        if os.access(p, os.X_OK) and not os.path.isdir(p):
            return p
    raise OSError('exec: "%s": executable file not found in $PATH: unknown' % name)


def default_signals():
    for n in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGXFSZ):
        signal.signal(n, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def run(s, out, err, error_fd, stdin=None):
    """In the forked child: never returns.  Before exec, the CPU seconds of this preparation and a NUL go to
    error_fd; a failure's text goes there too, with exit status 128."""
    try:
        os.dup2(os.open('/dev/null', os.O_RDONLY) if stdin is None else stdin, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        linux.unshare(linux.NEWNS)
        _root(s)
        os.chdir(s['cwd'])
        become(s)
        exe = find_executable(s['argv'][0], s['env'])
        default_signals()
        os.umask(0o022)
        os.closerange(3, error_fd)
        os.closerange(error_fd + 1, 4096)
        os.write(error_fd, b'%.6f\0' % time.process_time())
        os.execve(exe, s['argv'], s['env'])
    except BaseException as e:                         # noqa: the child must not return into the parent's code
        os.write(error_fd, (_RUNC + str(e)).encode()[:4000])
    os._exit(128)
