# SPDX-License-Identifier: Apache-2.0
"""The command line: start, ctl, cleanup.  `python3 FOLDER ...` and `python3 -m fake_k8s_server ...` both work."""
import argparse
import json
import os
import signal
import sys

if not __package__:
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    __package__ = os.path.basename(os.path.dirname(os.path.abspath(__file__)))
    __import__(__package__)

from . import control, server  # noqa: E402
from .kubelet import linux  # noqa: E402
from .kubelet.runtime import Refused  # noqa: E402

_CANNOT = 77                                           # this machine cannot run pods: tests are skipped
# ctl command -> its arguments: a bare name is positional, --name an option, --name! a switch
_COMMANDS = {
    'stats': ('--reset!',), 'runs': (), 'fault': ('code:int', '--verb', '--resource', '--user', '--count:int', '--probability:float', '--retry-after:int',
                                      '--hang:float', '--drop!'),
    'clear': (), 'cut-watches': ('--compact!',), 'compact': (), 'delay': ('prefix', 'least:float', 'most:float'), 'pull-fail': ('image',),
    'unschedulable': ('prefix',), 'evict': ('pod',), 'preempt': ('pod',), 'pressure': ('pod',), 'delete': ('pod', '--grace:int'),
    'kill': ('pod',), 'oom': ('pod',), 'node-down': ('node', '--evict-after:float'), 'node-up': ('node',),
    'drop-right': ('user', '--verb', '--resource'), 'dns': ('state:on/off',), 'stop': (),
}


def _parser():
    p = argparse.ArgumentParser(prog='fake_k8s_server', description='A Kubernetes API server, controllers and nodes for tests, on one machine.')
    sub = p.add_subparsers(dest='mode', required=True)
    s = sub.add_parser('start', help='run in the foreground; prints "ready KUBECONFIG"; code 77: this machine cannot run pods')
    s.add_argument('--dir', required=True, help='folder of this server: state, keys, kubeconfigs; removed from it at the end')
    s.add_argument('--address', default='127.0.0.1')
    s.add_argument('--port', type=int, default=0, help='0: any free one')
    s.add_argument('--nodes', type=int, default=4)
    s.add_argument('--zones', type=int, default=2)
    s.add_argument('--gpus', type=int, default=8, help='nvidia.com/gpu of each node; 0: no such resource')
    s.add_argument('--cpu', default='32')
    s.add_argument('--memory', default='256Gi')
    s.add_argument('--light', action='store_true', help='pods share the host\'s network; each has a loopback address of its own')
    s.add_argument('--no-dns', dest='dns', action='store_false')
    s.add_argument('--rbac-user', action='append', default=[], help='a user without rights until a RoleBinding gives some')
    s.add_argument('--namespace', action='append', default=[], help='made at the start; the first one is the kubeconfigs\' default')
    s.add_argument('--install', action='append', default=[], choices=('volcano', 'coscheduling'), help='optional kinds')
    s.add_argument('--bind', action='append', default=[], help='host folder that every container sees at the same path')
    s.add_argument('--window', type=int, default=1000, help='changes per resource that watches can look back')
    s.add_argument('--backoff', type=float, default=10.0, help='first delay of crash loops and image pulls, seconds')
    s.add_argument('--job-backoff', type=float, default=10.0, help='first delay before a Job replaces a failed pod, seconds')
    s.add_argument('--time-scale', type=float, default=1.0, help='divides TTLs, Jobs\' deadlines and tolerationSeconds')
    s.add_argument('--with-parent', action='store_true', help='stop, as by SIGTERM, when the process that started this one ends')
    s.add_argument('--refresh', type=float, default=1.0, help='seconds until mounted Secrets and ConfigMaps show a change')
    s.add_argument('--node-grace', type=float, default=1.0, help='seconds until a silent node is NotReady')
    c = sub.add_parser('cleanup', help='remove what a killed server left in its folder')
    c.add_argument('--dir', required=True)
    t = sub.add_parser('ctl', help='injections and statistics')
    t.add_argument('--dir', required=True)
    commands = t.add_subparsers(dest='command', required=True)
    for name, args in _COMMANDS.items():
        q = commands.add_parser(name)
        for a in args:
            a, _, kind = a.partition(':')
            if a.endswith('!'):
                q.add_argument(a[:-1], action='store_true', default=argparse.SUPPRESS)
            elif kind == 'on/off':
                q.add_argument(a, choices=('on', 'off'))
            else:
                q.add_argument(a, type={'int': int, 'float': float}.get(kind, str), **({'default': argparse.SUPPRESS} if a.startswith('-') else {}))
    return p


def _start(o):
    o.namespace = o.namespace or ['default']
    if o.with_parent:
        parent = os.getppid()
        linux.die_with_parent(signal.SIGTERM)
        if os.getppid() != parent:
            return 1                                   # it ended before we asked
    try:
        s = server.FakeServer(o)
    except (server.Busy, Refused, OSError, RuntimeError) as e:
        print('fake_k8s_server: %s' % e, file=sys.stderr)
        return _CANNOT if isinstance(e, Refused) else 1
    s.run(lambda: print('ready ' + s.kubeconfig, flush=True))
    return 0


def _ctl(o):
    args = {k: v for k, v in vars(o).items() if k not in ('mode', 'dir', 'command')}
    if 'state' in args:
        args = {'on': args['state'] == 'on'}
    try:
        out = control.call(o.dir, o.command, **args)
    except RuntimeError as e:
        print('fake_k8s_server: %s' % e, file=sys.stderr)
        return 1
    if out is not None:
        try:
            print(json.dumps(out, indent=1), flush=True)
        except BrokenPipeError:
            os._exit(0)                                # the reader has seen enough
    return 0


def main():
    o = _parser().parse_args()
    if o.mode == 'start':
        return _start(o)
    if o.mode == 'ctl':
        return _ctl(o)
    try:
        os.close(server.lock_folder(o.dir))
        server.clean_folder(o.dir)
    except (server.Busy, OSError) as e:
        print('fake_k8s_server: %s' % e, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
