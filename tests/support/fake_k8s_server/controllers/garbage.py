# SPDX-License-Identifier: Apache-2.0
"""The garbage collector: dependents of absent owners go; foreground and orphan deletion are carried out."""
from ..api import errors
from .loop import Loop


class GarbageCollector:
    def __init__(self, store, registry, catalog):
        self.store, self.registry, self.catalog = store, registry, catalog
        self.loop = Loop('garbage-collector', self._sweep)
        self._resources = [r for r in catalog.resources if r.stored and r.kind != 'Event']

    def changed(self, res, change):
        """A listener of the store."""
        m = change.obj['metadata']
        if res != 'events' and (change.type == 'DELETED' or m.get('deletionTimestamp') or change.type == 'ADDED' and m.get('ownerReferences')):
            self.loop.add('sweep')

    def _all(self):
        with self.store.lock:
            return [(r, o) for r in self._resources for o in self.store.list(self.registry.key(r))]

    def _sweep(self, _key):
        every = self._all()
        alive = {o['metadata']['uid']: (r, o) for r, o in every}
        dependents = {}
        for r, o in every:
            for ref in o['metadata'].get('ownerReferences') or []:
                dependents.setdefault(ref['uid'], []).append((r, o, ref))
        for r, o in every:
            self._finalize(r, o, dependents.get(o['metadata']['uid'], []))
        for r, o in every:
            refs = o['metadata'].get('ownerReferences') or []
            if not refs or o['metadata'].get('deletionTimestamp'):
                continue
            here = [ref for ref in refs if self._valid(ref, o, alive)]
            if not here:
                self._delete(r, o, 'Background')
            elif all(alive[ref['uid']][1]['metadata'].get('deletionTimestamp')
                     and 'foregroundDeletion' in (alive[ref['uid']][1]['metadata'].get('finalizers') or []) for ref in here):
                self._delete(r, o, 'Foreground' if dependents.get(o['metadata']['uid']) else 'Background')

    @staticmethod
    def _valid(ref, o, alive):
        """The owner must be the same object, in the dependent's namespace or cluster-wide."""
        if ref['uid'] not in alive:
            return False
        r, owner = alive[ref['uid']]
        return owner['metadata']['name'] == ref['name'] and r.kind == ref['kind'] and (
            not r.namespaced or owner['metadata'].get('namespace') == o['metadata'].get('namespace'))

    def _delete(self, r, o, policy):
        try:
            self.registry.delete(r, o['metadata'].get('namespace', ''), o['metadata']['name'],
                                 {'propagationPolicy': policy, 'preconditions': {'uid': o['metadata']['uid']}})
        except errors.ApiError:
            pass

    def _finalize(self, r, o, dependents):
        finalizers = o['metadata'].get('finalizers') or []
        if not o['metadata'].get('deletionTimestamp'):
            return
        if 'orphan' in finalizers:
            for dr, d, _ in dependents:
                def cut(x, uid=o['metadata']['uid']):
                    left = [ref for ref in x['metadata'].get('ownerReferences') or [] if ref['uid'] != uid]
                    if left:
                        x['metadata']['ownerReferences'] = left
                    else:
                        x['metadata'].pop('ownerReferences', None)
                self.registry.change(dr, d, cut)
            self._drop(r, o, 'orphan')
        elif 'foregroundDeletion' in finalizers and not [d for _, d, ref in dependents if ref.get('blockOwnerDeletion')]:
            self._drop(r, o, 'foregroundDeletion')

    def _drop(self, r, o, name):
        def fill(x):
            left = [f for f in x['metadata'].get('finalizers') or [] if f != name]
            if left:
                x['metadata']['finalizers'] = left
            else:
                x['metadata'].pop('finalizers', None)
        self.registry.change(r, o, fill)
