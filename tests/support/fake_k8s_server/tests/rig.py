# SPDX-License-Identifier: Apache-2.0
"""Starts one server for a test module, and asks it."""
import atexit
import base64
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(FOLDER))
sys.dont_write_bytecode = True
SKIP = 77


def need_root():
    """Ends the module with code 77 where namespaces cannot be made."""
    for tool in ('kubectl', 'openssl'):
        if shutil.which(tool) is None:
            print('skipped: %s is not installed' % tool)
            sys.exit(SKIP)
    if os.geteuid() != 0 or subprocess.run(['unshare', '-n', '-m', '-p', '-f', 'true'], stderr=subprocess.DEVNULL, check=False).returncode:
        print('skipped: namespaces need root and CAP_SYS_ADMIN')
        sys.exit(SKIP)


class Rig:
    """A running server.  `options` are those of `start` but --dir."""

    def __init__(self, *options):
        self.dir = tempfile.mkdtemp()
        with open(os.path.join(self.dir, 'errors'), 'wb') as errors:
            self.proc = subprocess.Popen([sys.executable, '-B', FOLDER, 'start', '--with-parent', '--dir', self.dir] + list(options),
                                         stdout=subprocess.PIPE, stderr=errors, text=True)
        atexit.register(self.stop)
        line = self.proc.stdout.readline()
        if not line.startswith('ready '):
            if self.proc.wait(10) == SKIP:
                print('skipped: ' + self.errors())
                sys.exit(SKIP)
            raise RuntimeError('the server did not start: ' + self.errors())
        self.kubeconfig = line.split()[1]
        with open(self.kubeconfig) as f:
            config = json.load(f)
        self.host = config['clusters'][0]['cluster']['server'][8:]
        self.context = ssl.create_default_context(cadata=base64.b64decode(config['clusters'][0]['cluster']['certificate-authority-data']).decode())

    def errors(self):
        with open(os.path.join(self.dir, 'errors')) as f:
            return f.read()

    def stop(self):
        if self.proc.poll() is None:
            self.proc.terminate()
            try:
                self.proc.wait(10)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.proc.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def user_config(self, user):
        return os.path.join(self.dir, 'users', user + '.conf')

    def token(self, user='boss'):
        with open(self.user_config(user)) as f:
            return json.load(f)['users'][0]['user']['token']

    def api(self, method, path, body=None, user='boss', ctype='application/json', headers=None):
        """(code, object or text, headers)."""
        c = http.client.HTTPSConnection(self.host, context=self.context, timeout=15)
        try:
            c.request(method, path, json.dumps(body) if body is not None else None,
                      dict({'Authorization': 'Bearer ' + self.token(user), 'Content-Type': ctype}, **(headers or {})))
            r = c.getresponse()
            raw = r.read()
        finally:
            c.close()
        try:
            return r.status, json.loads(raw), r.headers
        except ValueError:
            return r.status, raw.decode(), r.headers

    def kubectl(self, *args, user='admin', text=None, code=0, timeout=15):
        """Standard output and error; AssertionError unless kubectl ends with `code`."""
        env = dict(os.environ, KUBECONFIG=self.user_config(user), HOME=self.dir)
        p = subprocess.run(('kubectl',) + args, env=env, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
        assert p.returncode == code, 'kubectl %s: code %d: %s' % (' '.join(args), p.returncode, p.stdout)
        return p.stdout

    def ctl(self, command, **args):
        from fake_k8s_server import control
        return control.call(self.dir, command, **args)

    def wait(self, what, seconds=10):
        """The first true value of what(); AssertionError after the time."""
        end = time.monotonic() + seconds
        while True:
            value = what()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError('it did not come within %s s; errors: %s' % (seconds, self.errors()))
            time.sleep(0.03)

    # ------------------------------------------------------------ objects
    def pods(self, job):
        return self.api('GET', '/api/v1/namespaces/ml/pods?labelSelector=job-name%3D' + job)[1]['items']

    def job(self, name):
        return self.api('GET', '/apis/batch/v1/namespaces/ml/jobs/' + name)[1]

    def condition(self, name, kind):
        return next((c for c in self.job(name).get('status', {}).get('conditions', []) if c['type'] == kind and c['status'] == 'True'), None)

    def create(self, path, obj, code=201):
        got, out, _ = self.api('POST', path, obj)
        assert got == code, out
        return out

    def create_job(self, name, script, n=1, pod=None, **spec):
        template = {'restartPolicy': 'Never', 'automountServiceAccountToken': False, 'terminationGracePeriodSeconds': 0,
                    'containers': [{'name': 'main', 'image': 'any:1', 'command': ['bash', '-c', script]}]}
        template.update(pod or {})
        return self.create('/apis/batch/v1/namespaces/ml/jobs', {'metadata': {'name': name}, 'spec': dict({
            'completions': n, 'parallelism': n, 'completionMode': 'Indexed', 'template': {'spec': template}}, **spec)})

    def log(self, pod):
        return self.api('GET', '/api/v1/namespaces/ml/pods/%s/log' % pod)[1]


def main():
    unittest.main(verbosity=1)
