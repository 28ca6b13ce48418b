# SPDX-License-Identifier: Apache-2.0
"""The process around one container: `container.py SPEC_FD STATUS_FD`.

Makes its namespaces (processes, host name, System V and mounts; the network is the host's), starts its first process and
ends as that ends.  What it could not do is written to STATUS_FD; a zero byte there: the command has been started.
"""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from fake_k8s_server.kubelet import container_init, linux    # noqa: E402


def _code(status):
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _docker_init(child):
    """Process 1 with HostConfig.Init: passes signals on, reaps, ends as the command ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda n, _: os.kill(child, n))
    for fd in (0, 1, 2):
        os.close(fd)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(_code(status))


def main():
    with os.fdopen(int(sys.argv[1])) as f:
        spec = json.load(f)
    status = int(sys.argv[2])
    os.set_inheritable(status, False)
    linux.die_with_parent()
    try:
        linux.unshare(linux.NEWPID | linux.NEWUTS | linux.NEWIPC)
    except OSError as e:
        os.write(status, str(e).encode())
        return 128
    first = os.fork()
    if first == 0:
        linux.die_with_parent()
        os.setsid()
        if spec['hostname']:
            linux.call('sethostname', spec['hostname'].encode(), len(spec['hostname']))
        child = os.fork() if spec['init'] else 0
        if child:
            os.close(status)
            _docker_init(child)
        container_init.run(spec, 1, 2, status, stdin=0)
    with open(spec['pid_file'] + '.part', 'w') as f:
        f.write(str(first))
    os.rename(spec['pid_file'] + '.part', spec['pid_file'])
    os.close(status)
    for fd in (0, 1, 2):
        os.close(fd)
    return _code(os.waitpid(first, 0)[1])


os._exit(main())
