# SPDX-License-Identifier: Apache-2.0
"""Small controllers: namespaces, service accounts, claims, nodes that are down, pods that nobody runs."""
import shutil

from ..api import errors, names
from ..api.names import dig
from .loop import Loop
from .scheduler import tolerates

_UNREACHABLE = 'node.kubernetes.io/unreachable'


def disrupt(registry, res, pod, reason, message):
    """Gives a pod the condition DisruptionTarget, as evictions and preemptions do."""
    def fill(o):
        conds = [c for c in o['status'].get('conditions') or [] if c['type'] != 'DisruptionTarget']
        o['status']['conditions'] = conds + [{'type': 'DisruptionTarget', 'status': 'True', 'reason': reason, 'message': message,
                                              'lastProbeTime': None, 'lastTransitionTime': names.now()}]
    return registry.change(res, pod, fill)


class ClusterControllers:
    """`eviction_scale` divides the seconds that pods tolerate a node that is down."""

    def __init__(self, store, registry, catalog, events, kubelet, ca_pem, grace=1.0, eviction_scale=1.0):
        self.store, self.registry, self.catalog, self.events = store, registry, catalog, events
        self.kubelet, self.ca_pem, self.grace, self.scale = kubelet, ca_pem, grace, eviction_scale
        self.pods = catalog['pods']
        self.loop = Loop('cluster', self._reconcile)

    def changed(self, res, change):
        """A listener of the store."""
        m = change.obj['metadata']
        if res == 'namespaces' or res == 'persistentvolumeclaims':
            self.loop.add((res, m.get('namespace', ''), m['name']))
        elif res == 'nodes' and change.type == 'DELETED':
            self.loop.add(('podgc', '', m['name']))
        if change.type == 'DELETED' and m.get('namespace'):
            self.loop.add(('namespaces', '', m['namespace']))

    def _reconcile(self, key):
        getattr(self, '_' + key[0])(*key[1:])

    # ------------------------------------------------------------ namespaces and claims
    def _namespaces(self, _ns, name):
        n = self.store.get('namespaces', '', name)
        if n is None:
            return
        if not n['metadata'].get('deletionTimestamp'):
            for res, obj in (('serviceaccounts', {'metadata': {'name': 'default'}}),
                             ('configmaps', {'metadata': {'name': 'kube-root-ca.crt'}, 'data': {'ca.crt': self.ca_pem}})):
                if self.store.get(res, name, obj['metadata']['name']) is None:
                    try:
                        self.registry.create(self.catalog[res], name, obj)
                    except errors.ApiError:
                        pass                           # someone else made it, or the namespace is going
            return
        left = 0
        for r in self.catalog.resources:
            if r.stored and r.namespaced:
                for o in self.store.list(self.registry.key(r), name):
                    left += 1
                    if not o['metadata'].get('deletionTimestamp'):
                        try:
                            self.registry.delete(r, name, o['metadata']['name'], {'propagationPolicy': 'Background'})
                        except errors.ApiError:
                            pass
        if left:
            self.loop.add_after(('namespaces', '', name), 0.2)
            return
        self.registry.change(self.catalog['namespaces'], n, lambda o: o['metadata'].pop('finalizers', None) and None)

    def _persistentvolumeclaims(self, ns, name):
        claim = self.store.get('persistentvolumeclaims', ns, name)
        if claim is None:
            shutil.rmtree('%s/%s_%s' % (self.kubelet.pvc_folder, ns, name), ignore_errors=True)
            return
        if dig(claim, 'status.phase') == 'Bound' or 'does-not-exist' in claim['spec'].get('storageClassName', ''):
            return
        volume = 'pvc-' + claim['metadata']['uid']
        size = claim['spec']['resources']['requests']['storage']
        ref = {'kind': 'PersistentVolumeClaim', 'namespace': ns, 'name': name, 'uid': claim['metadata']['uid'], 'apiVersion': 'v1'}
        if self.store.get('persistentvolumes', '', volume) is None:
            self.registry.create(self.catalog['persistentvolumes'], '', {'metadata': {'name': volume}, 'spec': {
                'capacity': {'storage': size}, 'accessModes': claim['spec']['accessModes'], 'claimRef': ref, 'persistentVolumeReclaimPolicy': 'Delete',
                'storageClassName': claim['spec'].get('storageClassName', 'standard')}, 'status': {'phase': 'Bound'}})

        def fill(o):
            o['spec']['volumeName'] = volume
            o['spec'].setdefault('storageClassName', 'standard')
            o['status'] = {'phase': 'Bound', 'accessModes': o['spec']['accessModes'], 'capacity': {'storage': size}}
        self.registry.change(self.catalog['persistentvolumeclaims'], claim, fill)

    # ------------------------------------------------------------ nodes
    def node_down(self, name, up=False, tolerate=None):
        """Takes a node down, or up again.  `tolerate`: seconds until its pods are evicted (None: what they tolerate)."""
        self._node(name)
        self.kubelet.post('node', (name, up))
        if up:
            self._node_condition(name, 'True', 'KubeletReady', 'kubelet is posting ready status', [])
        else:
            self.loop.add_after(('lost', '', name, tolerate), self.grace)

    def _node(self, name):
        node = self.store.get('nodes', '', name)
        if node is None:
            raise errors.not_found(self.catalog['nodes'], name)
        return node

    def _node_condition(self, name, status, reason, message, taints):
        def fill(o):
            o['spec']['taints'] = [t for t in o['spec'].get('taints') or [] if t['key'] != _UNREACHABLE] + taints
            for c in o['status']['conditions']:
                if c['type'] == 'Ready':
                    c.update(status=status, reason=reason, message=message, lastTransitionTime=names.now())
        self.registry.change(self.catalog['nodes'], self._node(name), fill)

    def _lost(self, _ns, name, tolerate):
        if self.store.get('nodes', '', name) is None:
            return
        taints = [{'key': _UNREACHABLE, 'effect': e, 'timeAdded': names.now()} for e in ('NoSchedule', 'NoExecute')]
        self._node_condition(name, 'Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.', taints)
        for p in self._on(name):
            def unready(o):
                for c in o['status'].get('conditions') or []:
                    if c['type'] in ('Ready', 'ContainersReady') and c['status'] == 'True':
                        c.update(status='False', lastTransitionTime=names.now())
            self.registry.change(self.pods, p, unready)
            seconds = [t.get('tolerationSeconds') for t in p['spec'].get('tolerations') or [] if tolerates([t], taints[1])]
            if not seconds:
                wait = 0.0
            elif all(s is None for s in seconds):
                continue
            else:
                wait = min(s for s in seconds if s is not None) / self.scale
            self.loop.add_after(('evict', p['metadata']['namespace'], p['metadata']['name'], p['metadata']['uid'], name),
                                wait if tolerate is None else float(tolerate))

    def _on(self, node):
        return [p for p in self.store.list('pods') if p['spec'].get('nodeName') == node and dig(p, 'status.phase') not in ('Succeeded', 'Failed')]

    def _evict(self, ns, name, uid, node):
        n, p = self.store.get('nodes', '', node), self.store.get('pods', ns, name)
        if p is None or p['metadata']['uid'] != uid or n is None or not any(t['key'] == _UNREACHABLE for t in n['spec'].get('taints') or []):
            return
        self.events.emit(p, 'TaintManagerEviction', 'Marking for deletion Pod %s/%s' % (ns, name), 'Normal', 'taint-eviction-controller')
        self.evict(p, 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint')

    def evict(self, pod, reason, message, options=None):
        """DisruptionTarget, then deletion with the pod's grace."""
        disrupt(self.registry, self.pods, pod, reason, message)
        m = pod['metadata']
        return self.registry.delete(self.pods, m['namespace'], m['name'], dict(options or {}, preconditions={'uid': m['uid']}))

    def _podgc(self, _ns, node):
        """Pods of a node that was removed fail and go."""
        for p in self._on(node):
            new = disrupt(self.registry, self.pods, p, 'DeletionByPodGC', 'PodGC: node no longer exists')
            self.registry.change(self.pods, new or p, lambda o: o['status'].update(phase='Failed'))
            try:
                self.registry.delete(self.pods, p['metadata']['namespace'], p['metadata']['name'], {'gracePeriodSeconds': 0})
            except errors.ApiError:
                pass


def make_node(n, zones, gpus, cpu, memory, ip):
    """The Node object of number n."""
    name, now = 'node-%d' % n, names.now()
    capacity = {'cpu': cpu, 'memory': memory, 'pods': '110', 'ephemeral-storage': '500Gi'}
    if gpus:
        capacity['nvidia.com/gpu'] = str(gpus)
    zone = 'zone-' + chr(ord('a') + n % max(zones, 1))
    conditions = [{'type': 'Ready', 'status': 'True', 'reason': 'KubeletReady', 'message': 'kubelet is posting ready status',
                   'lastHeartbeatTime': now, 'lastTransitionTime': now}]
    return {'metadata': {'name': name, 'labels': {
        'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', 'topology.kubernetes.io/zone': zone,
        'topology.kubernetes.io/region': 'region-1'}}, 'spec': {},
        'status': {'capacity': capacity, 'allocatable': dict(capacity), 'conditions': conditions,
                   'addresses': [{'type': 'InternalIP', 'address': ip}, {'type': 'Hostname', 'address': name}],
                   'nodeInfo': {'kubeletVersion': 'v1.32.4', 'osImage': 'fake', 'operatingSystem': 'linux', 'architecture': 'amd64',
                                'containerRuntimeVersion': 'fake://1', 'kernelVersion': '', 'machineID': '', 'systemUUID': '',
                                'bootID': '', 'kubeProxyVersion': 'v1.32.4'}}}
