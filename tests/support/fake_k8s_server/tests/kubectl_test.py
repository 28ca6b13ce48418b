# SPDX-License-Identifier: Apache-2.0
"""kubectl and the API over HTTPS, with pods that run."""
import json
import os
import socket
import subprocess
import threading
import time
import unittest

import rig

rig.need_root()
R = rig.Rig('--namespace', 'ml', '--rbac-user', 'alice', '--job-backoff', '0.2', '--backoff', '0.2', '--nodes', '4', '--window', '50')

ECHO = '''
import socket, threading
def echo(c):
    while True:
        d = c.recv(65536)
        if not d:
            break
        c.sendall(d)
    c.close()
s = socket.create_server(('127.0.0.1', 7000))
print('listens', flush=True)
while True:
    threading.Thread(target=echo, args=(s.accept()[0],), daemon=True).start()
'''

TALK = '''
if [ "$JOB_COMPLETION_INDEX" = 0 ]; then
  sleep 0.3
  exec timeout 10 python3 -c "
import socket
s = socket.create_server(('', 7000))
for _ in range(3):
    c, _ = s.accept(); print('met', c.recv(9).decode(), flush=True); c.sendall(b'welcome'); c.close()"
fi
for _ in $(seq 50); do
  if exec 3<>/dev/tcp/$VIP/7000; then echo -n "$HOSTNAME" >&3; cat <&3; exit 0; fi
  sleep 0.1
done 2>/dev/null
exit 3
'''

VISITOR = '''
import os, time, urllib.request
url = 'http://%s:%s/' % (os.environ['READY_SERVICE_HOST'], os.environ['READY_SERVICE_PORT_A'])
time.sleep(1)
try:
    urllib.request.urlopen(url, timeout=1)
    print('too early')
except OSError as e:
    print(e.reason.strerror)
open('/data/go', 'w').close()
for _ in range(80):
    try:
        print('go' in urllib.request.urlopen(url, timeout=1).read().decode())
        break
    except OSError:
        time.sleep(0.1)
'''


class Kubectl(unittest.TestCase):
    def test_apply_of_an_indexed_job_whose_pods_meet_at_the_cluster_ip(self):
        svc = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'root'}, 'spec': {
            'publishNotReadyAddresses': True, 'ports': [{'port': 7000}],
            'selector': {'job-name': 'talk', 'batch.kubernetes.io/job-completion-index': '0'}}}
        self.assertEqual(R.kubectl('apply', '-f', '-', text=json.dumps(svc)), 'service/root created\n')
        vip = R.api('GET', '/api/v1/namespaces/ml/services/root')[1]['spec']['clusterIP']
        job = {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'talk'}, 'spec': {
            'completions': 4, 'parallelism': 4, 'completionMode': 'Indexed', 'template': {'spec': {'restartPolicy': 'Never', 'containers': [
                {'name': 'main', 'image': 'a', 'command': ['bash', '-c', TALK], 'env': [{'name': 'VIP', 'value': vip}]}]}}}}
        self.assertEqual(R.kubectl('apply', '-f', '-', text=json.dumps(job)), 'job.batch/talk created\n')
        self.assertEqual(R.kubectl('apply', '-f', '-', text=json.dumps(job)), 'job.batch/talk unchanged\n')
        R.kubectl('wait', '--for=condition=complete', 'job/talk', '--timeout=10s')
        logs = {p['spec']['hostname']: R.log(p['metadata']['name']) for p in R.pods('talk')}
        self.assertEqual(sorted(logs['talk-0'].split('\n')), ['', 'met talk-1', 'met talk-2', 'met talk-3'])
        self.assertEqual([logs['talk-%d' % i] for i in (1, 2, 3)], ['welcome'] * 3)
        self.assertEqual(R.job('talk')['status']['completedIndexes'], '0-3')
        self.assertEqual(len({p['spec']['nodeName'] for p in R.pods('talk')}), 4)
        self.assertIn('Complete', R.kubectl('get', 'jobs'))
        self.assertRegex(R.kubectl('get', 'pods', '-o', 'wide'), r'talk-1-[a-z0-9]{5} +0/1 +Completed +0 +\d+s +10\.244\.')
        changed = json.loads(json.dumps(job))
        changed['spec']['template']['spec']['containers'][0]['image'] = 'b'
        self.assertIn('field is immutable', R.kubectl('apply', '-f', '-', text=json.dumps(changed), code=1))
        R.kubectl('delete', 'job', 'talk')
        R.wait(lambda: not R.pods('talk'))

    def test_logs_follow_and_delete_sends_sigterm(self):
        R.create_job('follow', 'trap "echo bye; exit 5" TERM; echo one; while :; do sleep 0.05; done', pod={'terminationGracePeriodSeconds': 5})
        pod = R.wait(lambda: [p for p in R.pods('follow') if p['status']['phase'] == 'Running'])[0]['metadata']['name']
        p = subprocess.Popen(['kubectl', '--kubeconfig', R.kubeconfig, 'logs', '-f', pod], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(p.stdout.readline(), 'one\n')
            R.kubectl('delete', 'job', 'follow', '--wait=false')
            self.assertEqual(p.stdout.readline(), 'bye\n')
            self.assertEqual(p.wait(5), 0)
        finally:
            p.kill()
            p.wait()
            p.stdout.close()
        R.wait(lambda: not R.pods('follow'))

    def test_a_mounted_secret_is_renewed(self):
        R.create('/api/v1/namespaces/ml/secrets', {'metadata': {'name': 'renewed'}, 'stringData': {'key': 'old'}})
        R.create_job('reader', '', pod={
            'volumes': [{'name': 's', 'secret': {'secretName': 'renewed'}}],
            'containers': [{'name': 'main', 'image': 'a', 'volumeMounts': [{'name': 's', 'mountPath': '/secret'}], 'command': [
                'bash', '-c', 'echo "$(< /secret/key)"; until [[ $(< /secret/key) == new ]]; do sleep 0.05; done; echo "$(< /secret/key)"; sleep 60']}]})
        pod = R.wait(lambda: R.pods('reader'))[0]['metadata']['name']
        R.wait(lambda: R.log(pod) == 'old\n')
        R.api('PATCH', '/api/v1/namespaces/ml/secrets/renewed', {'stringData': {'key': 'new'}}, ctype='application/merge-patch+json')
        R.wait(lambda: R.log(pod) == 'old\nnew\n')
        R.kubectl('delete', 'job', 'reader', '--now')
        R.kubectl('delete', 'secret', 'renewed')

    def test_exec_and_cp(self):
        R.create_job('shell', 'sleep 60')
        pod = R.wait(lambda: [p for p in R.pods('shell') if p['status']['phase'] == 'Running'])[0]['metadata']['name']
        self.assertEqual(R.kubectl('exec', '-i', pod, '--', 'cat', text='in and out'), 'in and out')
        self.assertIn('exit code 7', R.kubectl('exec', pod, '--', 'bash', '-c', 'exit 7', code=7))
        self.assertEqual(R.kubectl('exec', pod, '--', 'cat', '/proc/1/comm'), 'sleep\n')
        R.kubectl('cp', os.path.abspath(__file__), pod + ':/tmp/copied')
        self.assertEqual(R.kubectl('exec', pod, '--', 'wc', '-c', '/tmp/copied').split()[0], str(os.path.getsize(__file__)))
        R.kubectl('delete', 'job', 'shell')

    def forward(self, pod, port, **env):
        """A kubectl that forwards, and its local port."""
        p = subprocess.Popen(('kubectl', 'port-forward', '--address=127.0.0.1', 'pod/' + pod, ':%d' % port), text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=dict(os.environ, KUBECONFIG=R.user_config('admin'), HOME=R.dir, **env))
        self.addCleanup(lambda: (p.kill(), p.wait(), p.stdout.close()))
        line = p.stdout.readline()
        self.assertRegex(line, r'^Forwarding from 127\.0\.0\.1:\d+ -> %d$' % port)
        return p, int(line.split(':')[1].split()[0])

    def exchange(self, port, sent):
        with socket.create_connection(('127.0.0.1', port), 15) as s:
            writer = threading.Thread(target=s.sendall, args=(sent,))
            writer.start()
            got = b''
            while len(got) < len(sent):
                d = s.recv(65536)
                if not d:
                    break
                got += d
            writer.join()
        return got

    def test_port_forward_by_both_protocols(self):
        R.create_job('echo', '', pod={'containers': [{'name': 'main', 'image': 'a', 'command': ['python3', '-c', ECHO]}]})
        pod = R.wait(lambda: [p for p in R.pods('echo') if p['status']['phase'] == 'Running'])[0]['metadata']['name']
        R.wait(lambda: R.log(pod) == 'listens\n')
        sent = os.urandom(1 << 20)
        for env, verb in (({}, 'get'), ({'KUBECTL_PORT_FORWARD_WEBSOCKETS': 'false'}, 'create')):
            R.ctl('stats', reset=True)
            p, port = self.forward(pod, 7000, **env)
            self.assertIn((verb, 1), [(c['verb'], c['count']) for c in R.ctl('stats')['calls'] if c['resource'] == 'pods/portforward'])
            for _ in range(3):
                self.assertTrue(self.exchange(port, sent) == sent)
            p.terminate()
            p.wait(10)
        # A server that knows no tunnel.
        R.ctl('fault', code=400, verb='get', resource='pods/portforward')
        self.assertTrue(self.exchange(self.forward(pod, 7000)[1], sent) == sent)
        R.ctl('clear')
        # Nobody listens: kubectl says so, and ends.
        p, port = self.forward(pod, 7001)
        self.assertEqual(self.exchange(port, b'x'), b'')
        self.assertEqual(p.wait(10), 1)
        said = p.stdout.read()
        self.assertIn('connection refused', said)
        self.assertIn('error: lost connection to pod', said)
        R.kubectl('delete', 'job', 'echo')

    def test_a_user_without_rights_and_one_with(self):
        refused = R.kubectl('get', 'secrets', user='alice', code=1)
        self.assertIn('secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "ml"', refused)
        R.kubectl('create', 'role', 'reader', '--verb=list', '--resource=secrets')
        R.kubectl('create', 'rolebinding', 'reader', '--role=reader', '--user=alice')
        R.kubectl('get', 'secrets', user='alice')
        self.assertEqual(R.kubectl('auth', 'can-i', 'list', 'secrets', user='alice'), 'yes\n')
        R.kubectl('auth', 'can-i', 'create', 'jobs', user='alice', code=1)
        R.kubectl('delete', 'role,rolebinding', 'reader')

    def test_no_token_and_a_wrong_one_are_unauthorized(self):
        for header in ('', 'Bearer wrong', 'Bearer a.b.c'):
            code, out, _ = R.api('GET', '/api/v1/pods', headers={'Authorization': header})
            self.assertEqual((code, out['reason']), (401, 'Unauthorized'))

    def test_volumes_users_and_environment(self):
        R.kubectl('create', 'secret', 'generic', 'key', '--from-literal=token=s3')
        R.create('/api/v1/namespaces/ml/pods', {'metadata': {'name': 'seen', 'labels': {'a': 'b'}}, 'spec': {
            'restartPolicy': 'Never', 'securityContext': {'runAsUser': 1234, 'runAsGroup': 1234},
            'initContainers': [{'name': 'first', 'image': 'a', 'command': ['sh', '-c', 'echo made >/work/made'],
                                'volumeMounts': [{'name': 'work', 'mountPath': '/work'}]}],
            'containers': [{'name': 'main', 'image': 'a', 'command': ['bash', '-c', (
                'id -u; cat /work/made; cat /key/token; echo; stat -Lc %a:%u /key/token; readlink /key/token; echo $LABEL $(WHO) $FROM; '
                'touch /no 2>&1; grep NoNewPrivs /proc/self/status; df --output=size /dev/shm | tail -1 | tr -d " "; echo last words >/dev/termination-log; exit 9')],
                'securityContext': {'readOnlyRootFilesystem': True, 'allowPrivilegeEscalation': False},
                'env': [{'name': 'WHO', 'valueFrom': {'fieldRef': {'fieldPath': 'metadata.name'}}},
                        {'name': 'LABEL', 'valueFrom': {'fieldRef': {'fieldPath': "metadata.labels['a']"}}},
                        {'name': 'FROM', 'valueFrom': {'secretKeyRef': {'name': 'key', 'key': 'token'}}}],
                'volumeMounts': [{'name': 'work', 'mountPath': '/work'}, {'name': 'key', 'mountPath': '/key'}]}],
            'volumes': [{'name': 'work', 'emptyDir': {}}, {'name': 'key', 'secret': {'secretName': 'key', 'defaultMode': 0o444}}]}})
        pod = R.wait(lambda: (lambda p: p if p['status']['phase'] == 'Failed' else None)(R.api('GET', '/api/v1/namespaces/ml/pods/seen')[1]))
        self.assertEqual(R.kubectl('logs', 'seen', '-c', 'main').split('\n'), [
            '1234', 'made', 's3', '444:0', '..data/token', 'b seen s3', "touch: cannot touch '/no': Read-only file system", 'NoNewPrivs:\t1', '65536', ''])
        ended = pod['status']['containerStatuses'][0]['state']['terminated']
        self.assertEqual((ended['exitCode'], ended['reason'], ended['message']), (9, 'Error', 'last words\n'))
        self.assertEqual(pod['status']['initContainerStatuses'][0]['state']['terminated']['reason'], 'Completed')
        R.kubectl('delete', 'pod/seen', 'secret/key')

    def test_dns_of_services_and_its_absence(self):
        R.create('/api/v1/namespaces/ml/services', {'metadata': {'name': 'heads'}, 'spec': {
            'clusterIP': 'None', 'selector': {'job-name': 'named'}, 'publishNotReadyAddresses': True}})
        R.create_job('named', 'exec sleep 60', pod={'subdomain': 'heads'})
        pod = R.wait(lambda: [p for p in R.pods('named') if p['status']['phase'] == 'Running'])[0]
        ask = lambda name, code=0: R.kubectl('exec', pod['metadata']['name'], '--', 'getent', 'ahostsv4', name, code=code).split(' ')[0]
        self.assertEqual(ask('named-0.heads'), pod['status']['podIP'])
        self.assertEqual(ask('kubernetes.default'), R.api('GET', '/api/v1/namespaces/default/services/kubernetes')[1]['spec']['clusterIP'])
        R.ctl('dns', on=False)
        ask('kubernetes.default.svc.cluster.local.', 2)
        R.ctl('dns', on=True)
        R.kubectl('delete', 'job/named', 'service/heads')

    def test_claim_is_shared_and_unready_pods_are_not_behind_the_service(self):
        R.create('/api/v1/namespaces/ml/persistentvolumeclaims', {'metadata': {'name': 'data'}, 'spec': {
            'accessModes': ['ReadWriteMany'], 'resources': {'requests': {'storage': '1Gi'}}}})
        R.create('/api/v1/namespaces/ml/services', {'metadata': {'name': 'ready'}, 'spec': {'selector': {'job-name': 'probed'}, 'ports': [
            {'name': 'a', 'port': 80, 'targetPort': 'web'}]}})
        R.create_job('probed', '', pod={
            'volumes': [{'name': 'data', 'persistentVolumeClaim': {'claimName': 'data'}}],
            'containers': [{'name': 'main', 'image': 'a', 'command': ['bash', '-c', 'cd /data; exec python3 -m http.server 8080'],
                            'ports': [{'name': 'web', 'containerPort': 8080}], 'volumeMounts': [{'name': 'data', 'mountPath': '/data'}],
                            'readinessProbe': {'periodSeconds': 1, 'exec': {'command': ['test', '-e', '/data/go']}}}]})
        mount = {'name': 'data', 'mountPath': '/data'}
        R.create_job('writer', '', pod={
            'volumes': [{'name': 'data', 'persistentVolumeClaim': {'claimName': 'data'}}],
            'containers': [{'name': 'main', 'image': 'a', 'command': ['python3', '-c', VISITOR], 'volumeMounts': [mount]}]})
        R.wait(lambda: R.condition('writer', 'Complete'), 15)
        self.assertEqual(R.log(R.pods('writer')[0]['metadata']['name']), 'Connection refused\nTrue\n')
        R.kubectl('delete', 'job/writer', 'job/probed', 'service/ready', 'pvc/data')

    def test_owner_gone_dependents_gone(self):
        owner = R.create_job('owner', 'sleep 60')
        ref = [{'apiVersion': 'batch/v1', 'kind': 'Job', 'name': 'owner', 'uid': owner['metadata']['uid']}]
        R.create('/api/v1/namespaces/ml/secrets', {'metadata': {'name': 'owned', 'ownerReferences': ref}})
        R.create('/api/v1/namespaces/ml/secrets', {'metadata': {'name': 'lost', 'ownerReferences': [dict(ref[0], uid='none')]}})
        R.wait(lambda: R.api('GET', '/api/v1/namespaces/ml/secrets/lost')[0] == 404)
        self.assertEqual(R.api('GET', '/api/v1/namespaces/ml/secrets/owned')[0], 200)
        R.api('DELETE', '/apis/batch/v1/namespaces/ml/jobs/owner', {'propagationPolicy': 'Background'})
        R.wait(lambda: R.api('GET', '/api/v1/namespaces/ml/secrets/owned')[0] == 404 and not R.pods('owner'))

    def test_watch_sees_changes_after_a_version_and_410_when_too_old(self):
        rv = R.api('GET', '/api/v1/namespaces/ml/configmaps')[1]['metadata']['resourceVersion']
        for name in ('w1', 'w2'):
            R.create('/api/v1/namespaces/ml/configmaps', {'metadata': {'name': name}})
        R.api('DELETE', '/api/v1/namespaces/ml/configmaps/w1')
        path = '/api/v1/namespaces/ml/configmaps?watch=1&timeoutSeconds=1&resourceVersion='
        events = [json.loads(x) for x in R.api('GET', path + rv)[1].strip().split('\n')]
        self.assertEqual([(e['type'], e['object']['metadata']['name']) for e in events], [('ADDED', 'w1'), ('ADDED', 'w2'), ('DELETED', 'w1')])
        R.ctl('compact')
        code, out, _ = R.api('GET', path + rv)
        self.assertEqual((code, out['reason']), (410, 'Expired'))

    def test_pod_security_refuses_the_jobs_pods(self):
        R.create('/api/v1/namespaces', {'metadata': {'name': 'strict', 'labels': {'pod-security.kubernetes.io/enforce': 'restricted'}}})
        R.wait(lambda: R.api('GET', '/api/v1/namespaces/strict/serviceaccounts/default')[0] == 200)
        spec = {'template': {'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'main', 'image': 'a', 'command': ['true']}]}}}
        code, _, headers = R.api('POST', '/apis/batch/v1/namespaces/strict/jobs', {'metadata': {'name': 'j'}, 'spec': spec})
        self.assertEqual(code, 201)
        self.assertIn('would violate PodSecurity', headers['Warning'])
        event = R.wait(lambda: [e for e in R.api('GET', '/api/v1/namespaces/strict/events')[1]['items'] if e['reason'] == 'FailedCreate'])[0]
        self.assertIn('is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false', event['message'])
        R.kubectl('delete', 'namespace', 'strict')

    def test_what_does_not_fit_stays_pending_with_the_reason(self):
        R.create_job('big', 'true', pod={'containers': [{'name': 'main', 'image': 'a', 'resources': {'limits': {'nvidia.com/gpu': '9'}}}]})
        pod = R.wait(lambda: [p for p in R.pods('big') if p['status'].get('conditions')])[0]
        c = pod['status']['conditions'][0]
        self.assertEqual((c['type'], c['reason']), ('PodScheduled', 'Unschedulable'))
        self.assertEqual(c['message'], '0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: 4 No preemption '
                         'victims found for incoming pod.')
        R.kubectl('delete', 'job', 'big')

    def test_elastic_job_grows_and_shrinks_from_the_top(self):
        R.create_job('elastic', 'sleep 60', 2)
        indexes = lambda: sorted(p['metadata']['labels']['batch.kubernetes.io/job-completion-index'] for p in R.pods('elastic')
                                 if p['status']['phase'] == 'Running' and 'deletionTimestamp' not in p['metadata'])
        R.wait(lambda: indexes() == ['0', '1'])
        for n in (3, 1):
            R.kubectl('patch', 'job', 'elastic', '-p', '{"spec":{"completions":%d,"parallelism":%d}}' % (n, n))
            R.wait(lambda n=n: indexes() == [str(i) for i in range(n)])
        R.kubectl('delete', 'job', 'elastic')

    def test_eight_pods_run_soon(self):
        start = time.monotonic()
        R.create_job('eight', 'sleep 60', 8)
        R.wait(lambda: R.job('eight').get('status', {}).get('ready') == 8, 15)
        took = time.monotonic() - start
        R.kubectl('delete', 'job', 'eight')
        print('8 pods ran after %.2f s' % took)
        R.wait(lambda: not R.pods('eight'))

    def tearDown(self):
        self.assertNotIn('Traceback', R.errors())


if __name__ == '__main__':
    rig.main()
