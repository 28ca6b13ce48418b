# SPDX-License-Identifier: Apache-2.0
"""Checks of a Job's spec and of its changes."""
from . import names, validate_pod
from .names import dig

_INT_FIELDS = ('parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'backoffLimitPerIndex', 'maxFailedIndexes',
               'ttlSecondsAfterFinished')
_MAX_PARALLELISM = 100000


def _failure_policy(spec, errs):
    pod, path = spec['template']['spec'], 'spec.podFailurePolicy'
    if pod['restartPolicy'] != 'Never':
        errs.invalid('spec.template.spec.restartPolicy', pod['restartPolicy'], 'only "Never" is supported when podFailurePolicy is specified')
    containers = {c.get('name') for c in (pod.get('containers') or []) + (pod.get('initContainers') or [])}
    rules = spec['podFailurePolicy'].get('rules') or []
    if len(rules) > 20:
        errs._put('FieldValueTooMany', path + '.rules', 'Too many: %d: must have at most 20 items' % len(rules))
    for i, r in enumerate(rules):
        at = '%s.rules[%d]' % (path, i)
        allowed = ('Count', 'FailIndex', 'FailJob', 'Ignore')
        if not r.get('action'):
            errs.required(at + '.action', 'valid values: ' + ', '.join('"%s"' % a for a in allowed))
        elif r['action'] not in allowed:
            errs.unsupported(at + '.action', r['action'], allowed)
        elif r['action'] == 'FailIndex' and 'backoffLimitPerIndex' not in spec:
            errs.invalid(at + '.action', r['action'], 'requires the backoffLimitPerIndex to be set')
        codes, conds = r.get('onExitCodes'), r.get('onPodConditions')
        if codes is not None and conds:
            errs.invalid(at, '', 'specifying both OnExitCodes and OnPodConditions is not supported')
        if codes is None and not conds:
            errs.invalid(at, '', 'specifying one of OnExitCodes and OnPodConditions is required')
        if codes is not None:
            if codes.get('operator') not in ('In', 'NotIn'):
                errs.unsupported(at + '.onExitCodes.operator', codes.get('operator', ''), ('In', 'NotIn'))
            if codes.get('containerName') and codes['containerName'] not in containers:
                errs.invalid(at + '.onExitCodes.containerName', codes['containerName'], 'must be one of the container or initContainer names in the pod template')
            values = codes.get('values') or []
            if not values:
                errs.invalid(at + '.onExitCodes.values', values, 'at least one value is required')
            elif values != sorted(values):
                errs.invalid(at + '.onExitCodes.values', values, 'must be ordered')
            for j, v in enumerate(values):
                if v in values[:j]:
                    errs.duplicate('%s.onExitCodes.values[%d]' % (at, j), v)
                if codes.get('operator') == 'In' and v == 0:
                    errs.invalid('%s.onExitCodes.values[%d]' % (at, j), v, 'must not be 0 for the In operator')
        for j, c in enumerate(conds or []):
            if not c.get('type'):
                errs.required('%s.onPodConditions[%d].type' % (at, j))
            if c.get('status') not in ('True', 'False', 'Unknown'):
                errs.unsupported('%s.onPodConditions[%d].status' % (at, j), c.get('status', ''), ('False', 'True', 'Unknown'))


def spec(obj, errs):
    """Puts what is wrong with the Job's spec into errs."""
    s, name = obj['spec'], obj['metadata'].get('name', '')
    for k in _INT_FIELDS:
        if s.get(k, 0) < 0:
            errs.invalid('spec.' + k, s[k], 'must be greater than or equal to 0')
    mode = s['completionMode']
    if mode not in ('Indexed', 'NonIndexed'):
        errs.unsupported('spec.completionMode', mode, ('Indexed', 'NonIndexed'))
    if mode == 'Indexed':
        n = s.get('completions')
        if n is None:
            errs.required('spec.completions', 'when completion mode is Indexed')
        elif n > 0:
            if s['parallelism'] > _MAX_PARALLELISM:
                errs.invalid('spec.parallelism', s['parallelism'], 'must be less than or equal to 100000 when completion mode is Indexed')
            host = '%s-%d' % (name, n - 1)
            for e in names.label_errors(host):
                errs.invalid('metadata.name', host, 'will not able to create pod with invalid DNS label: ' + e)
    if 'backoffLimitPerIndex' in s and mode != 'Indexed':
        errs.invalid('spec.backoffLimitPerIndex', s['backoffLimitPerIndex'], 'requires indexed completion mode')
    if 'maxFailedIndexes' in s and 'backoffLimitPerIndex' not in s:
        errs.required('spec.backoffLimitPerIndex', 'when maxFailedIndexes is specified')
    if s.get('maxFailedIndexes', 0) > s.get('completions', 1 << 31):
        errs.invalid('spec.maxFailedIndexes', s['maxFailedIndexes'], 'must be less than or equal to completions')
    pod = s['template']['spec']
    if 'backoffLimitPerIndex' in s and pod['restartPolicy'] != 'Never':
        errs.invalid('spec.template.spec.restartPolicy', pod['restartPolicy'], 'only "Never" is supported when backoffLimitPerIndex is specified')
    if s['podReplacementPolicy'] not in ('Failed', 'TerminatingOrFailed') or 'podFailurePolicy' in s and s['podReplacementPolicy'] != 'Failed':
        errs.unsupported('spec.podReplacementPolicy', s['podReplacementPolicy'],
                         ('Failed',) if 'podFailurePolicy' in s else ('Failed', 'TerminatingOrFailed'))
    if 'podFailurePolicy' in s:
        _failure_policy(s, errs)
    meta = s['template']['metadata']
    names.check_labels(meta.get('labels'), 'spec.template.metadata.labels', errs)
    names.check_annotations(meta.get('annotations'), 'spec.template.metadata.annotations', errs)
    if not names.match_selector(s.get('selector'), meta.get('labels')):
        errs.invalid('spec.template.metadata.labels', meta.get('labels') or {}, '`selector` does not match template `labels`')
    if pod['restartPolicy'] == 'Always':
        errs.required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"')
    validate_pod.pod_spec(pod, 'spec.template.spec', errs)


def generate_selector(obj, errs):
    """Gives the Job its selector and its template the labels; both hold the Job's uid."""
    s, uid, name = obj['spec'], obj['metadata']['uid'], obj['metadata']['name']
    labels = s['template']['metadata'].setdefault('labels', {})
    if s.get('manualSelector'):
        return
    if 'selector' in s:
        errs.invalid('spec.selector', s['selector'], '`selector` not auto-generated')
    for key, value in (('controller-uid', uid), ('job-name', name)):
        for k in (key, 'batch.kubernetes.io/' + key):
            if labels.get(k, value) != value:
                errs.invalid('spec.template.metadata.labels', labels, '`%s` must not be set by the user' % k)
            labels[k] = value
    s['selector'] = {'matchLabels': {'batch.kubernetes.io/controller-uid': uid}}


def update(new, old, errs):
    """Immutable fields; the elastic exception: completions may change with parallelism when the two are equal."""
    a, b = new['spec'], old['spec']
    spec(new, errs)
    if a.get('completions') != b.get('completions'):
        if a['completionMode'] != 'Indexed' or a.get('completions') is None or b.get('completions') is None:
            errs.invalid('spec.completions', a.get('completions'), 'field is immutable')
        elif not (a['completions'] == a['parallelism'] and b['completions'] == b['parallelism']):
            errs.invalid('spec.completions', a['completions'], 'can only be modified in tandem with spec.parallelism')
    for k in ('selector', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'):
        if a.get(k) != b.get(k):
            errs.invalid('spec.' + k, a.get(k), 'field is immutable')
    t, u = names.clone(a['template']), names.clone(b['template'])
    if b.get('suspend') and dig(old, 'status.startTime') is None:   # scheduling directives of a Job that never ran
        for x in (t, u):
            x['metadata'] = {}
            for k in ('nodeSelector', 'affinity', 'tolerations', 'schedulingGates'):
                x['spec'].pop(k, None)
    if t != u:
        errs.invalid('spec.template', a['template'], 'field is immutable')
