# SPDX-License-Identifier: Apache-2.0
"""Failing pods, nodes and requests: what is injected, and what the Job controller makes of it."""
import os
import signal
import socket
import subprocess
import time
import unittest

import rig

rig.need_root()
R = rig.Rig('--namespace', 'ml', '--rbac-user', 'alice', '--job-backoff', '0.1', '--backoff', '0.2', '--nodes', '2', '--node-grace', '0.1', '--light')


def running(job, index=None):
    return [p for p in R.pods(job) if p['status']['phase'] == 'Running' and 'deletionTimestamp' not in p['metadata']
            and (index is None or p['metadata']['annotations']['batch.kubernetes.io/job-completion-index'] == str(index))]


class Failures(unittest.TestCase):
    def tearDown(self):
        R.ctl('clear')
        self.assertNotIn('Traceback', R.errors())

    def end(self, job):
        R.api('DELETE', '/apis/batch/v1/namespaces/ml/jobs/' + job, {'propagationPolicy': 'Background', 'gracePeriodSeconds': 0})
        R.wait(lambda: not R.pods(job))

    def test_runs_are_recorded_with_their_times_and_their_cpu(self):
        before = time.time()
        R.create_job('timed', 'for i in {1..200000}; do :; done; exit 4', backoffLimit=0)
        R.wait(lambda: R.condition('timed', 'Failed'))
        told = R.ctl('runs')
        run = next(r for r in told['runs'] if r['pod'].startswith('timed-'))
        self.assertTrue(before < run['began'] < run['ended'] < time.time(), run)
        self.assertTrue(0 < run['preparation'] < run['cpu'], run)
        self.assertGreater(run['cpu'], 0.02)
        self.assertTrue(told['server_cpu'] > 0 and told['runtime_cpu'] > 0, told)
        self.end('timed')

    def test_backoff_limit(self):
        R.create_job('limit', 'exit 3', backoffLimit=1)
        c = R.wait(lambda: R.condition('limit', 'Failed'))
        self.assertEqual((c['reason'], c['message']), ('BackoffLimitExceeded', 'Job has reached the specified backoff limit'))
        self.assertEqual(R.job('limit')['status']['failed'], 2)
        self.end('limit')

    def test_failure_policy_fails_the_job_at_an_exit_code(self):
        R.create_job('policy', 'exit 42', backoffLimit=9, podFailurePolicy={'rules': [
            {'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget'}]},
            {'action': 'FailJob', 'onExitCodes': {'containerName': 'main', 'operator': 'In', 'values': [42]}}]})
        c = R.wait(lambda: R.condition('policy', 'Failed'))
        self.assertEqual(c['reason'], 'PodFailurePolicy')
        self.assertRegex(c['message'], r'Container main for pod ml/policy-0-[a-z0-9]{5} failed with exit code 42 matching FailJob rule at index 1')
        self.end('policy')

    def test_eviction_is_ignored_and_replaced(self):
        R.create_job('evicted', 'sleep 60', backoffLimit=0, podFailurePolicy={'rules': [
            {'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget'}]}]})
        first = R.wait(lambda: running('evicted'))[0]['metadata']['name']
        R.ctl('evict', pod='ml/' + first)
        self.assertNotEqual(R.wait(lambda: running('evicted'))[0]['metadata']['name'], first)
        self.assertNotIn('failed', R.job('evicted')['status'])
        self.end('evicted')

    def test_eviction_under_pressure_leaves_a_failed_pod(self):
        R.create_job('pressed', 'sleep 60', backoffLimit=0)
        R.ctl('pressure', pod='ml/' + R.wait(lambda: running('pressed'))[0]['metadata']['name'])
        R.wait(lambda: R.condition('pressed', 'Failed'))
        st = R.pods('pressed')[0]['status']
        self.assertEqual((st['phase'], st['reason']), ('Failed', 'Evicted'))
        self.assertIn(('DisruptionTarget', 'TerminationByKubelet'), [(c['type'], c.get('reason')) for c in st['conditions']])
        self.end('pressed')

    def test_replacement_waits_for_the_end_of_a_terminating_pod(self):
        R.create_job('polite', 'trap "" TERM; while :; do sleep 0.1; done', podReplacementPolicy='Failed', pod={'terminationGracePeriodSeconds': 1})
        first = R.wait(lambda: running('polite'))[0]['metadata']['name']
        R.ctl('delete', pod='ml/' + first)
        R.wait(lambda: R.job('polite')['status'].get('terminating') == 1)
        self.assertEqual([p['metadata']['name'] for p in R.pods('polite')], [first])
        self.assertNotEqual(R.wait(lambda: running('polite'))[0]['metadata']['name'], first)
        self.end('polite')

    def test_per_index_limit(self):
        R.create_job('indexes', '[ $JOB_COMPLETION_INDEX != 1 ]', 3, backoffLimitPerIndex=1)
        c = R.wait(lambda: R.condition('indexes', 'Failed'))
        st = R.job('indexes')['status']
        self.assertEqual((c['reason'], st['completedIndexes'], st['failedIndexes'], st['failed']), ('FailedIndexes', '0,2', '1', 2))
        self.end('indexes')

    def test_deadline_and_ttl(self):
        R.create_job('late', 'sleep 60', activeDeadlineSeconds=1, ttlSecondsAfterFinished=1)
        self.assertEqual(R.wait(lambda: R.condition('late', 'Failed'))['reason'], 'DeadlineExceeded')
        R.wait(lambda: R.api('GET', '/apis/batch/v1/namespaces/ml/jobs/late')[0] == 404 and not R.pods('late'))

    def test_suspended_job_has_no_pods_until_resumed(self):
        R.create_job('rest', 'sleep 60', suspend=True)
        R.wait(lambda: R.condition('rest', 'Suspended'))
        self.assertEqual(R.pods('rest'), [])
        R.kubectl('patch', 'job', 'rest', '--type=merge', '-p', '{"spec":{"suspend":false}}')
        R.wait(lambda: running('rest'))
        self.end('rest')

    def test_oom_and_signals(self):
        R.create_job('oom', 'sleep 60', backoffLimit=0)
        R.ctl('oom', pod='ml/' + R.wait(lambda: running('oom'))[0]['metadata']['name'])
        R.wait(lambda: R.condition('oom', 'Failed'))
        t = R.pods('oom')[0]['status']['containerStatuses'][0]['state']['terminated']
        self.assertEqual((t['exitCode'], t['reason']), (137, 'OOMKilled'))
        self.end('oom')

    def test_restarts_and_previous_logs(self):
        R.create('/api/v1/namespaces/ml/pods', {'metadata': {'name': 'loop'}, 'spec': {'terminationGracePeriodSeconds': 0, 'containers': [
            {'name': 'main', 'image': 'a', 'command': ['sh', '-c', 'echo run; exit 4']}]}})
        pod = lambda: R.api('GET', '/api/v1/namespaces/ml/pods/loop')[1]['status'].get('containerStatuses', [{}])[0]
        R.wait(lambda: pod().get('restartCount', 0) >= 2 and pod()['state'].get('waiting'))
        self.assertEqual((pod()['state']['waiting']['reason'], pod()['lastState']['terminated']['exitCode']), ('CrashLoopBackOff', 4))
        self.assertEqual(R.kubectl('logs', 'loop', '--previous'), 'run\n')
        R.kubectl('delete', 'pod', 'loop')

    def test_image_that_does_not_exist(self):
        R.create_job('image', 'true', pod={'containers': [{'name': 'main', 'image': 'does-not-exist:1', 'command': ['true']}]})
        reason = lambda: [s['state'].get('waiting', {}).get('reason') for p in R.pods('image') for s in p['status'].get('containerStatuses', [])]
        R.wait(lambda: reason() == ['ErrImagePull'])
        R.wait(lambda: reason() == ['ImagePullBackOff'])
        self.assertIn('trying and failing to pull image', R.kubectl('logs', 'job/image', code=1))
        self.end('image')

    def test_command_that_is_not_there(self):
        R.create_job('absent', '', pod={'containers': [{'name': 'main', 'image': 'a', 'command': ['no-such-command']}]}, backoffLimit=0)
        R.wait(lambda: R.condition('absent', 'Failed'))
        t = R.pods('absent')[0]['status']['containerStatuses'][0]['state']['terminated']
        self.assertEqual((t['exitCode'], t['reason']), (128, 'StartError'))
        self.assertIn('exec: "no-such-command": executable file not found in $PATH', t['message'])
        self.end('absent')

    def test_node_that_goes_down(self):
        R.create_job('node', 'sleep 60', pod={'terminationGracePeriodSeconds': 1})
        pod = R.wait(lambda: running('node'))[0]
        node = pod['spec']['nodeName']
        R.ctl('node-down', node=node, evict_after=0.1)
        R.wait(lambda: [p for p in R.pods('node') if any(c['type'] == 'DisruptionTarget' and c['reason'] == 'DeletionByTaintManager'
                                                         for c in p['status']['conditions'])])
        self.assertNotEqual(R.wait(lambda: running('node'))[0]['spec']['nodeName'], node)
        self.assertIn('NotReady', R.kubectl('get', 'node', node))
        R.ctl('node-up', node=node)
        R.wait(lambda: len(R.pods('node')) == 1)
        self.end('node')

    def test_injected_answers_and_their_count(self):
        R.ctl('fault', code=429, verb='list', resource='services', user='boss', count=1, retry_after=3)
        code, out, headers = R.api('GET', '/api/v1/namespaces/ml/services')
        self.assertEqual((code, out['reason'], headers['Retry-After']), (429, 'TooManyRequests', '3'))
        self.assertEqual(R.api('GET', '/api/v1/namespaces/ml/services')[0], 200)
        R.ctl('stats', reset=True)
        R.api('GET', '/api/v1/namespaces/ml/services')
        self.assertEqual(R.ctl('stats'), {'calls': [{'user': 'boss', 'verb': 'list', 'resource': 'services', 'count': 1}], 'total': 1})

    def test_cut_watches_and_dropped_rights(self):
        p = subprocess.Popen(['kubectl', '--kubeconfig', R.kubeconfig, 'logs', '-f', '--pod-running-timeout=1s', 'x'], stderr=subprocess.DEVNULL)
        p.wait(5)
        start = time.monotonic()
        watch = subprocess.Popen(['kubectl', '--kubeconfig', R.kubeconfig, 'get', 'pods', '--watch'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            R.wait(lambda: any(r['verb'] == 'watch' for r in R.ctl('stats')['calls']))
            R.ctl('cut-watches')
            watch.wait(5)
        finally:
            watch.kill()
            watch.wait()
        self.assertLess(time.monotonic() - start, 10)
        R.ctl('drop-right', user='boss', verb='list', resource='pods')
        self.assertEqual(R.api('GET', '/api/v1/namespaces/ml/pods')[0], 403)

    def test_delays_spread_the_starts(self):
        R.ctl('delay', prefix='slow', least=0.5, most=0.9)
        start = time.monotonic()
        R.create_job('slow', 'sleep 60', 2)
        R.wait(lambda: len(running('slow')) == 2)
        self.assertGreater(time.monotonic() - start, 0.5)
        self.end('slow')

    def test_a_killed_server_leaves_nothing_that_cleanup_does_not_remove(self):
        other = rig.Rig('--namespace', 'ml', '--nodes', '1')
        mark = '98765.%d' % os.getpid()
        other.create_job('left', 'exec sleep ' + mark)
        alive = lambda: [p for p in os.listdir('/proc') if p.isdigit() and mark.encode() in _read('/proc/%s/cmdline' % p)]
        other.wait(alive)
        os.kill(other.proc.pid, signal.SIGKILL)
        other.proc.wait()
        other.wait(lambda: not alive())
        self.assertNotIn(other.dir.encode(), _read('/proc/mounts'))
        clean = lambda: subprocess.run([rig.sys.executable, '-B', rig.FOLDER, 'cleanup', '--dir', other.dir], stderr=subprocess.DEVNULL, check=False).returncode == 0
        other.wait(clean)
        self.assertEqual(sorted(os.listdir(other.dir)), ['errors', 'lock'])
        other.stop()

    def test_light_pods_meet_at_the_cluster_ip_too(self):
        R.create('/api/v1/namespaces/ml/services', {'metadata': {'name': 'light'}, 'spec': {'publishNotReadyAddresses': True, 'ports': [{'port': 7100}],
                                                                                          'selector': {'job-name': 'light'}}})
        vip = R.api('GET', '/api/v1/namespaces/ml/services/light')[1]['spec']['clusterIP']
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((vip, 7100), 2)
        R.create_job('light', 'exec python3 -c "\nimport os, socket\ns = socket.create_server((os.environ[\'IP\'], 7100))\nc, _ = s.accept()\nc.sendall(b\'hello\')"',
                     pod={'containers': [{'name': 'main', 'image': 'a', 'env': [{'name': 'IP', 'valueFrom': {'fieldRef': {'fieldPath': 'status.podIP'}}}],
                                          'command': ['bash', '-c', 'exec python3 -c "\nimport os, socket\ns = socket.create_server((os.environ[\'IP\'], 7100))'
                                                      '\nc, _ = s.accept()\nc.sendall(b\'hello\')"']}]})

        def greeting():
            try:
                with socket.create_connection((vip, 7100), 2) as c:
                    return c.recv(9)
            except ConnectionRefusedError:
                return None
        self.assertEqual(R.wait(greeting), b'hello')
        R.wait(lambda: R.condition('light', 'Complete'))
        self.end('light')


def _read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:
        return b''


if __name__ == '__main__':
    rig.main()
