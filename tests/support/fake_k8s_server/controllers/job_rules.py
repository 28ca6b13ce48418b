# SPDX-License-Identifier: Apache-2.0
"""What the Job controller decides from a pod, without the store: indexes, failure policy, back-off."""
from ..api import names
from ..api.names import dig

TRACKING = 'batch.kubernetes.io/job-tracking'
INDEX = 'batch.kubernetes.io/job-completion-index'
FAILURES = 'batch.kubernetes.io/job-index-failure-count'
IGNORED = 'batch.kubernetes.io/job-index-ignored-failure-count'
_BACKOFF_MAX = 600.0


def parse_indexes(text):
    out = set()
    for part in (text or '').split(','):
        if part:
            a, _, b = part.partition('-')
            out.update(range(int(a), int(b or a) + 1))
    return out


def format_indexes(indexes):
    """As the controller writes completedIndexes: 1,3-5,7."""
    parts, run = [], []
    for i in sorted(indexes) + [None]:
        if run and (i is None or i != run[-1] + 1):
            parts.append(str(run[0]) if len(run) == 1 else '%d%s%d' % (run[0], ',' if len(run) == 2 else '-', run[-1]))
            run = []
        run.append(i)
    return ','.join(parts)


def index_of(pod):
    text = (pod['metadata'].get('annotations') or {}).get(INDEX, '')
    return int(text) if text.isdigit() else -1


def finished(job):
    return any(c['type'] in ('Complete', 'Failed') and c['status'] == 'True' for c in dig(job, 'status.conditions') or [])


def phase(pod):
    return dig(pod, 'status.phase')


def failed(job, pod):
    """Whether the pod counts as failed; a terminating one does unless only failed pods are replaced."""
    if phase(pod) == 'Failed':
        return True
    return bool(job['spec']['podReplacementPolicy'] != 'Failed' and pod['metadata'].get('deletionTimestamp') and phase(pod) != 'Succeeded')


def active(job, pod):
    return phase(pod) not in ('Succeeded', 'Failed') and not pod['metadata'].get('deletionTimestamp')


def judge(job, pod):
    """(action, message) of the failure policy's first rule that matches; ('Count', None) when none does."""
    for n, rule in enumerate((job['spec'].get('podFailurePolicy') or {}).get('rules') or []):
        where = 'matching %s rule at index %d' % (rule['action'], n)
        m = pod['metadata']
        codes = rule.get('onExitCodes')
        if codes is not None:
            for s in (dig(pod, 'status.initContainerStatuses') or []) + (dig(pod, 'status.containerStatuses') or []):
                code = dig(s, 'state.terminated.exitCode')
                if not code or codes.get('containerName') not in (None, s['name']):
                    continue
                if (code in codes['values']) == (codes['operator'] == 'In'):
                    return rule['action'], 'Container %s for pod %s/%s failed with exit code %d %s' % (s['name'], m['namespace'], m['name'], code, where)
        for want in rule.get('onPodConditions') or []:
            for c in dig(pod, 'status.conditions') or []:
                if c['type'] == want['type'] and c['status'] == want['status']:
                    return rule['action'], 'Pod %s/%s has condition %s %s' % (m['namespace'], m['name'], c['type'], where)
    return 'Count', None


def finish_time(pod):
    ends = [dig(s, 'state.terminated.finishedAt') for s in dig(pod, 'status.containerStatuses') or []]
    ends = [names.seconds_of(e) for e in ends if e]
    stamp = pod['metadata'].get('deletionTimestamp')
    return max(ends) if ends else names.seconds_of(stamp) if stamp else names.seconds_of(pod['metadata']['creationTimestamp'])


def backoff(first, failures):
    """Seconds to wait after the last of so many failures in a row."""
    return 0.0 if failures <= 0 else min(_BACKOFF_MAX, first * 2 ** (failures - 1))


def pod_for(job, index):
    """A new pod of the Job."""
    m, template = job['metadata'], names.clone(job['spec']['template'])
    meta, spec = template.get('metadata') or {}, template['spec']
    meta = {k: v for k, v in meta.items() if k in ('labels', 'annotations', 'finalizers')}
    meta['finalizers'] = list(meta.get('finalizers') or []) + [TRACKING]
    meta['ownerReferences'] = [{'apiVersion': 'batch/v1', 'kind': 'Job', 'name': m['name'], 'uid': m['uid'], 'controller': True,
                                'blockOwnerDeletion': True}]
    meta['generateName'] = m['name'] + '-'
    if index is not None:
        meta.setdefault('annotations', {})[INDEX] = str(index)
        meta.setdefault('labels', {})[INDEX] = str(index)
        meta['generateName'] = '%s-%d-' % (m['name'], index)
        spec.setdefault('hostname', '%s-%d' % (m['name'], index))
        ref = {'name': 'JOB_COMPLETION_INDEX', 'valueFrom': {'fieldRef': {'apiVersion': 'v1', 'fieldPath': "metadata.labels['%s']" % INDEX}}}
        for c in (spec.get('initContainers') or []) + spec['containers']:
            if not any(e['name'] == ref['name'] for e in c.get('env') or []):
                c['env'] = (c.get('env') or []) + [names.clone(ref)]
    return {'metadata': meta, 'spec': spec}
