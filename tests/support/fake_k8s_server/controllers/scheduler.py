# SPDX-License-Identifier: Apache-2.0
"""The scheduler: filters by taints, selectors, affinity and resources, prefers nodes with fewer pods."""
from ..api import names
from ..api.names import dig
from ..api.strategies import pod_requests
from .loop import Loop

_BATCH = 'all'


def tolerates(tolerations, taint):
    for t in tolerations or []:
        if t.get('effect') and t['effect'] != taint['effect']:
            continue
        if not t.get('key') and t.get('operator') == 'Exists':
            return True
        if t.get('key') == taint['key'] and (t.get('operator') == 'Exists' or t.get('value', '') == taint.get('value', '')):
            return True
    return False


class Scheduler:
    def __init__(self, store, registry, catalog, events):
        self.store, self.registry, self.events, self.res = store, registry, events, catalog['pods']
        self.unschedulable = []                        # pod-name prefixes that fit nowhere (injected)
        self.loop = Loop('scheduler', self._all)

    def changed(self, res, change):
        """A listener of the store."""
        if res == 'nodes':
            old, new = change.old or {}, change.obj
            if change.type != 'MODIFIED' or old.get('spec') != new.get('spec') or dig(old, 'status.allocatable') != dig(new, 'status.allocatable'):
                self.loop.add(_BATCH)
        elif res == 'pods':
            over = change.type == 'DELETED' or dig(change.obj, 'status.phase') in ('Succeeded', 'Failed')
            if over or change.type == 'ADDED' or not dig(change.obj, 'spec.nodeName'):
                self.loop.add(_BATCH)
        elif res == 'persistentvolumeclaims':
            self.loop.add(_BATCH)

    def _all(self, _key):
        with self.store.lock:
            pods = self.store.list('pods')
            waiting = [p for p in pods if not dig(p, 'spec.nodeName') and not p['metadata'].get('deletionTimestamp')
                       and p['spec']['schedulerName'] == 'default-scheduler']
            if not waiting:
                return
            nodes = self.store.list('nodes')
            used, count, placed = {}, {}, [p for p in pods if dig(p, 'spec.nodeName') and dig(p, 'status.phase') not in ('Succeeded', 'Failed')]
            for p in placed:
                n = p['spec']['nodeName']
                count[n] = count.get(n, 0) + 1
                for k, v in pod_requests(p['spec']).items():
                    used[n, k] = used.get((n, k), 0) + v
        for pod in sorted(waiting, key=lambda p: (-p['spec'].get('priority', 0), int(p['metadata']['resourceVersion']))):
            self._one(pod, nodes, used, count, placed)

    def _one(self, pod, nodes, used, count, placed):
        if pod['spec'].get('schedulingGates'):
            self._gate(pod)
            return
        reasons, fits, want = {}, [], pod_requests(pod['spec'])
        problem = self._claims(pod)
        for n in [] if problem else nodes:
            bad = self._reasons(pod, n, want, used, count, placed, nodes)
            if not bad:
                fits.append(n)
            for r in bad:
                reasons[r] = reasons.get(r, 0) + 1
        if not fits:
            text = problem or ', '.join(sorted('%d %s' % (c, r) for r, c in reasons.items()))
            text = ('0/%d nodes are available: %s.' % (len(nodes), text)) if nodes else 'no nodes available to schedule pods'
            if nodes and not problem:
                insufficient = sum(c for r, c in reasons.items() if r.startswith(('Insufficient', 'Too many')))
                text += ' preemption: 0/%d nodes are available: %s.' % (len(nodes), ', '.join(filter(None, [
                    insufficient and '%d No preemption victims found for incoming pod' % insufficient,
                    len(nodes) - insufficient > 0 and '%d Preemption is not helpful for scheduling' % (len(nodes) - insufficient)])))
            self._failed(pod, text)
            return
        best = min(fits, key=lambda n: (count.get(n['metadata']['name'], 0), nodes.index(n)))
        name = best['metadata']['name']
        count[name] = count.get(name, 0) + 1
        for k, v in want.items():
            used[name, k] = used.get((name, k), 0) + v
        bound = self.bind(pod, name)
        if bound is not None:
            placed.append(bound)

    def bind(self, pod, node):
        def fill(o):
            if o['spec'].get('nodeName') or o['metadata'].get('deletionTimestamp'):
                return False
            o['spec']['nodeName'] = node
            conds = [c for c in o['status'].get('conditions') or [] if c['type'] != 'PodScheduled']
            o['status']['conditions'] = conds + [{'type': 'PodScheduled', 'status': 'True', 'lastProbeTime': None, 'lastTransitionTime': names.now()}]
            return True
        new = self.registry.change(self.res, pod, fill)
        if new is not None and dig(new, 'spec.nodeName') == node:
            m = pod['metadata']
            self.events.emit(new, 'Scheduled', 'Successfully assigned %s/%s to %s' % (m['namespace'], m['name'], node), 'Normal', 'default-scheduler')
        return new

    def _claims(self, pod):
        for v in pod['spec'].get('volumes') or []:
            if 'persistentVolumeClaim' in v:
                name = v['persistentVolumeClaim']['claimName']
                claim = self.store.get('persistentvolumeclaims', pod['metadata']['namespace'], name)
                if claim is None:
                    return 'persistentvolumeclaim "%s" not found' % name
                if dig(claim, 'status.phase') != 'Bound':
                    return 'pod has unbound immediate PersistentVolumeClaims'
        return None

    def _reasons(self, pod, node, want, used, count, placed, nodes):
        """Why the pod does not fit the node, in the scheduler's words; the first failing filter counts."""
        spec, m = pod['spec'], node['metadata']
        name, labels = m['name'], m.get('labels') or {}
        if any(m2 and pod['metadata']['name'].startswith(m2) for m2 in self.unschedulable):
            return ['node(s) didn\'t match Pod\'s node affinity/selector']
        if node['spec'].get('unschedulable') and not tolerates(spec.get('tolerations'), {'key': 'node.kubernetes.io/unschedulable', 'effect': 'NoSchedule'}):
            return ['node(s) were unschedulable']
        for t in node['spec'].get('taints') or []:
            if t['effect'] in ('NoSchedule', 'NoExecute') and not tolerates(spec.get('tolerations'), t):
                return ['node(s) had untolerated taint {%s: %s}' % (t['key'], t.get('value', ''))]
        if any(labels.get(k) != v for k, v in (spec.get('nodeSelector') or {}).items()) or not self._affinity(spec, labels, name):
            return ["node(s) didn't match Pod's node affinity/selector"]
        alloc, bad = dig(node, 'status.allocatable') or {}, []
        if count.get(name, 0) + 1 > int(alloc.get('pods', 110)):
            bad.append('Too many pods')
        for k, v in want.items():
            if v > 0 and used.get((name, k), 0) + v > names.quantity(alloc.get(k, 0)):
                bad.append('Insufficient ' + k)
        if bad:
            return bad
        return self._spread(pod, labels, placed, nodes)

    @staticmethod
    def _term(term, labels, name):
        return all(names.match_expression(e, labels) for e in term.get('matchExpressions') or []) and \
            all(names.match_expression(e, {'metadata.name': name}) for e in term.get('matchFields') or [])

    def _affinity(self, spec, labels, name):
        need = dig(spec, 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution')
        return need is None or any(self._term(t, labels, name) for t in need.get('nodeSelectorTerms') or [])

    def _spread(self, pod, labels, placed, nodes):
        by_name = {n['metadata']['name']: n['metadata'].get('labels') or {} for n in nodes}
        here = lambda key, p: by_name.get(p['spec']['nodeName'], {}).get(key) == labels.get(key)
        ns = pod['metadata']['namespace']
        mine = [p for p in placed if p['metadata']['namespace'] == ns]
        chosen = lambda term: [p for p in mine if names.match_selector(term.get('labelSelector'), p['metadata'].get('labels'))]
        for t in dig(pod, 'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution') or []:
            if any(here(t['topologyKey'], p) for p in chosen(t)):
                return ["node(s) didn't match pod anti-affinity rules"]
        for t in dig(pod, 'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution') or []:
            peers = chosen(t)
            alone = not peers and names.match_selector(t.get('labelSelector'), pod['metadata'].get('labels'))
            if not alone and not any(here(t['topologyKey'], p) for p in peers):
                return ["node(s) didn't match pod affinity rules"]
        for t in pod['spec'].get('topologySpreadConstraints') or []:
            if t['whenUnsatisfiable'] != 'DoNotSchedule':
                continue
            key, domains = t['topologyKey'], {}
            for n in by_name.values():
                if key in n:
                    domains[n[key]] = 0
            if key not in labels:
                return ["node(s) didn't match pod topology spread constraints (missing required label)"]
            for p in chosen(t):
                d = by_name.get(p['spec']['nodeName'], {}).get(key)
                if d in domains:
                    domains[d] += 1
            if domains[labels[key]] + 1 - min(domains.values()) > t['maxSkew']:
                return ["node(s) didn't match pod topology spread constraints"]
        return []

    def _condition(self, pod, reason, text):
        def fill(o):
            old = next((c for c in o['status'].get('conditions') or [] if c['type'] == 'PodScheduled'), None)
            if old and old.get('message') == text:
                return False
            o['status']['conditions'] = [c for c in o['status'].get('conditions') or [] if c['type'] != 'PodScheduled'] + [
                {'type': 'PodScheduled', 'status': 'False', 'reason': reason, 'message': text, 'lastProbeTime': None, 'lastTransitionTime': names.now()}]
            return True
        before = pod['metadata']['resourceVersion']
        new = self.registry.change(self.res, pod, fill)
        return new is not None and new['metadata']['resourceVersion'] != before

    def _failed(self, pod, text):
        if self._condition(pod, 'Unschedulable', text):
            self.events.emit(pod, 'FailedScheduling', text, 'Warning', 'default-scheduler')

    def _gate(self, pod):
        self._condition(pod, 'SchedulingGated', 'Scheduling is blocked due to non-empty scheduling gates')
