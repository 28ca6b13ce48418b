# SPDX-License-Identifier: Apache-2.0
"""The verbs on stored objects.  Who may do them is checked before (authorization); controllers call these directly."""
import base64
import json
import time
import uuid

from . import defaults, errors, names, patch, schema
from .names import clone, dig
from .resources import Resource

_POD_FIELDS = ('metadata.name', 'metadata.namespace', 'spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName',
               'status.phase', 'status.podIP', 'status.nominatedNodeName')
_EVENT_FIELDS = ('metadata.name', 'metadata.namespace', 'involvedObject.kind', 'involvedObject.namespace', 'involvedObject.name',
                 'involvedObject.uid', 'involvedObject.apiVersion', 'involvedObject.resourceVersion', 'involvedObject.fieldPath', 'reason',
                 'reportingComponent', 'source', 'type')
_FIELDS = {'Pod': _POD_FIELDS, 'Event': _EVENT_FIELDS, 'Secret': ('metadata.name', 'metadata.namespace', 'type'),
           'Job': ('metadata.name', 'metadata.namespace', 'status.successful'), 'Node': ('metadata.name', 'spec.unschedulable'),
           'Namespace': ('metadata.name', 'status.phase'), 'Service': ('metadata.name', 'metadata.namespace', 'spec.clusterIP', 'spec.type')}
PATCH_TYPES = ('application/json-patch+json', 'application/merge-patch+json', 'application/strategic-merge-patch+json',
               'application/apply-patch+yaml')


class Registry:
    """Create, read, update, patch, delete.  Each call is one step; any thread may call."""

    def __init__(self, store, catalog, strategies):
        self.store, self.catalog, self.rules = store, catalog, strategies

    # ------------------------------------------------------------ read
    def get(self, res, ns, name):
        o = self.store.get(self.key(res), ns, name)
        if o is None:
            raise errors.not_found(res, name)
        return o

    @staticmethod
    def key(res):
        return res.qualified if res.free else res.plural

    def selection(self, res, query):
        """The predicate of a request's labelSelector and fieldSelector."""
        labels = names.parse_label_selector(query['labelSelector']) if query.get('labelSelector') else None
        terms = []
        for term in (query.get('fieldSelector') or '').split(','):
            if not term:
                continue
            for op in ('!=', '==', '='):
                if op in term:
                    k, v = term.split(op, 1)
                    break
            else:
                raise errors.bad_request('invalid field selector: %s; can\'t understand \'%s\'' % (term, term))
            if k not in _FIELDS.get(res.kind, ('metadata.name', 'metadata.namespace')):
                raise errors.bad_request('Unable to find "%s" that match label selector "%s", field selector "%s": field label not supported: %s'
                                         % ('%s, Resource=%s' % (res.api_version, res.plural), query.get('labelSelector', ''), term, k))
            terms.append((k, op != '!=', v))

        def match(o):
            if labels and not labels(o['metadata'].get('labels')):
                return False
            for k, equal, v in terms:
                have = dig(o, k)
                if k == 'status.successful':
                    have = dig(o, 'status.succeeded') or 0
                if (str('' if have is None else have) == v) != equal:
                    return False
            return True
        return match

    def list(self, res, ns, query):
        """The list object; `limit` and `continue` page through one consistent snapshot of names."""
        match = self.selection(res, query)
        with self.store.lock:
            items = [o for o in self.store.list(self.key(res), ns or None) if match(o)]
            rv = str(self.store.rv)
        meta = {'resourceVersion': rv}
        if query.get('continue'):
            try:
                rv, last = json.loads(base64.b64decode(query['continue']))
                last = tuple(last)
            except (ValueError, TypeError):
                raise errors.bad_request('continue key is not valid') from None
            if int(rv) < self.store.floor.get(self.key(res), 0):
                raise errors.expired('The provided continue parameter is too old to display a consistent list result. You can start a new list '
                                     'without the continue parameter.')
            items = [o for o in items if (o['metadata'].get('namespace', ''), o['metadata']['name']) > last]
            meta['resourceVersion'] = rv
        try:
            limit = int(query.get('limit') or 0)
        except ValueError:
            raise errors.bad_request('strconv.ParseInt: parsing "%s": invalid syntax' % query['limit']) from None
        if limit and len(items) > limit:
            m = items[limit - 1]['metadata']
            meta['continue'] = base64.b64encode(json.dumps([meta['resourceVersion'], [m.get('namespace', ''), m['name']]]).encode()).decode()
            if not query.get('labelSelector') and not query.get('fieldSelector'):
                meta['remainingItemCount'] = len(items) - limit
            items = items[:limit]
        return {'kind': res.kind + 'List', 'apiVersion': res.api_version, 'metadata': meta, 'items': items}

    # ------------------------------------------------------------ create
    def _check_kind(self, res, obj):
        if not isinstance(obj, dict):
            return
        av, kind = obj.get('apiVersion', res.api_version), obj.get('kind', res.kind)
        if kind != res.kind or av != res.api_version:
            raise errors.bad_request('the API version in the data (%s) does not match the expected API version (%s)' % (av, res.api_version)
                                     if av != res.api_version else
                                     '%s in version "%s" cannot be handled as a %s: no kind "%s" is registered' % (kind, res.version, res.kind, kind))

    def create(self, res, ns, obj, query=None, user=None):
        """The stored object and the warnings."""
        query = query or {}
        self._check_kind(res, obj)
        obj, warnings = schema.decode(obj, res.kind, res.api_version, query.get('fieldValidation') or 'Warn', res.free)
        m = obj['metadata']
        if res.namespaced:
            if m.setdefault('namespace', ns) != ns:
                raise errors.bad_request('the namespace of the provided object does not match the namespace sent on the request')
        elif m.get('namespace'):
            raise errors.bad_request('namespace is not allowed on this type')
        if m.get('resourceVersion'):
            raise errors.bad_request('resourceVersion should not be set on objects to be created')
        with self.store.lock:
            if res.namespaced:
                self._namespace_open(res, ns, m.get('name', ''))
            if not m.get('name') and m.get('generateName'):
                m['name'] = m['generateName'][:58] + names.random_suffix()
            for k in ('deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'managedFields', 'selfLink'):
                m.pop(k, None)
            m['uid'], m['creationTimestamp'] = str(uuid.uuid4()), names.now()
            if res.kind in defaults.BY_KIND:
                defaults.BY_KIND[res.kind](obj)
            if m.get('name') and self.store.get(self.key(res), m.get('namespace'), m['name']) is not None:
                raise errors.already_exists(res, m['name'])
            warnings += self.rules.create(res, obj)
            if query.get('dryRun'):
                return obj, warnings
            return self.store.put(self.key(res), obj), warnings

    def _namespace_open(self, res, ns, name):
        n = self.store.get('namespaces', '', ns)
        if n is None:
            raise errors.not_found(self.catalog['namespaces'], ns)
        if dig(n, 'status.phase') == 'Terminating':
            e = errors.forbidden(res, name, 'unable to create new content in namespace %s because it is being terminated' % ns)
            e.details['causes'] = [{'reason': 'NamespaceTerminating', 'message': 'namespace %s is being terminated' % ns, 'field': 'metadata.namespace'}]
            raise e

    # ------------------------------------------------------------ update
    def update(self, res, ns, name, obj, sub='', query=None):
        query = query or {}
        self._check_kind(res, obj)
        obj, warnings = schema.decode(obj, res.kind, res.api_version, query.get('fieldValidation') or 'Warn', res.free)
        if obj['metadata'].get('name', name) != name:
            raise errors.bad_request('the name of the object (%s) does not match the name on the URL (%s)' % (obj['metadata']['name'], name))
        with self.store.lock:
            old = self.get(res, ns, name)
            return self._change(res, old, obj, sub, query), warnings

    def _change(self, res, old, new, sub, query):
        """Stores `new` over `old` when the rules allow it; an unchanged object keeps its resourceVersion."""
        name, m, o = old['metadata']['name'], new['metadata'], old['metadata']
        if m.get('resourceVersion') and m['resourceVersion'] != o['resourceVersion']:
            raise errors.conflict(res, name)
        if m.get('uid') and m['uid'] != o['uid']:
            raise errors.conflict(res, name, 'Precondition failed: UID in precondition: %s, UID in object meta: %s' % (m['uid'], o['uid']))
        for k in ('namespace', 'name', 'uid', 'creationTimestamp', 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generateName'):
            if k in o:
                m[k] = o[k]
            elif k != 'generateName':
                m.pop(k, None)
        m.pop('managedFields', None)
        if sub == 'status':
            kept = dict(old, status=new.get('status', {}))
            kept['metadata'] = dict(o, **{k: m[k] for k in ('labels', 'annotations') if k in m and res.kind == 'Node'})
            new = kept
        else:
            fill = defaults.BY_KIND.get(res.kind)
            if fill and res.kind not in ('Pod', 'Namespace'):
                fill(new)
            self.rules.update(res, new, old)
        m = new['metadata']
        m['resourceVersion'] = o['resourceVersion']
        if new == old or query.get('dryRun'):
            return new
        new = dict(new, metadata=dict(m))
        if o.get('deletionTimestamp') and not m.get('finalizers') and (res.kind != 'Pod' or o.get('deletionGracePeriodSeconds') == 0):
            self.store.put(self.key(res), new)
            return self.store.remove(self.key(res), new)
        return self.store.put(self.key(res), new)

    def patch(self, res, ns, name, ctype, body, sub='', query=None):
        """The object, the warnings, and whether an apply created it."""
        query = query or {}
        if ctype not in PATCH_TYPES or (res.free and ctype.startswith('application/strategic')):
            raise errors.unsupported_media([t for t in PATCH_TYPES if not (res.free and 'strategic' in t)])
        if ctype == PATCH_TYPES[3]:
            return self._apply(res, ns, name, body, sub, query)
        with self.store.lock:
            old = self.get(res, ns, name)
            if ctype == PATCH_TYPES[0]:
                new = patch.json_patch(old, body)
            elif not isinstance(body, dict):
                raise errors.bad_request('json: cannot unmarshal array into Go value of type map[string]interface {}')
            else:
                new = patch.merge(old, body) if ctype == PATCH_TYPES[1] else patch.strategic(clone(old), body)
            new, warnings = schema.decode(new, res.kind, res.api_version, 'Warn', res.free)
            if warnings and query.get('fieldValidation') == 'Strict':
                f = errors.FieldErrors()
                f.invalid('patch', json.dumps(body, separators=(',', ':')), 'strict decoding error: ' + ', '.join(warnings))
                f.raise_if_any(Resource('', res.version, '', ''), '')
            for k in ('name', 'namespace'):
                if new['metadata'].get(k) != old['metadata'].get(k):
                    f = errors.FieldErrors()
                    f.invalid('metadata.' + k, new['metadata'].get(k), 'field is immutable')
                    f.raise_if_any(res, name)
            return self._change(res, old, new, sub, query), warnings, False

    def _apply(self, res, ns, name, body, sub, query):
        if not query.get('fieldManager'):
            raise errors.ApiError(422, 'Invalid', 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
                                  {'group': 'meta.k8s.io', 'kind': 'PatchOptions', 'causes': [
                                      {'reason': 'FieldValueRequired', 'message': 'Required value: is required for apply patch', 'field': 'fieldManager'}]})
        if not isinstance(body, dict) or body.get('kind') != res.kind or body.get('apiVersion') != res.api_version:
            raise errors.bad_request('invalid object type: %s, Kind=%s' % ((body or {}).get('apiVersion'), (body or {}).get('kind')))
        with self.store.lock:
            old = self.store.get(self.key(res), ns, name)
            if old is None:
                body = dict(body, metadata=dict(body.get('metadata') or {}, name=name))
                obj, warnings = self.create(res, ns, body, query)
                return obj, warnings, True
            new = patch.strategic(clone(old), body) if not res.free else patch.merge(old, body)
            new, warnings = schema.decode(new, res.kind, res.api_version, query.get('fieldValidation') or 'Warn', res.free)
            return self._change(res, old, new, sub, query), warnings, False

    # ------------------------------------------------------------ delete
    def delete(self, res, ns, name, options=None, user=None):
        """The object while it is still terminating, else a Status."""
        options = options or {}
        with self.store.lock:
            old = self.get(res, ns, name)
            m = old['metadata']
            pre = options.get('preconditions') or {}
            for k, word in (('uid', 'UID'), ('resourceVersion', 'ResourceVersion')):
                if pre.get(k) and pre[k] != m[k]:
                    raise errors.conflict(res, name, 'Precondition failed: %s in precondition: %s, %s in object meta: %s' % (word, pre[k], word, m[k]))
            if options.get('dryRun'):
                return self._gone(res, old)
            new, finalizers = clone(old), list(m.get('finalizers') or [])
            policy = options.get('propagationPolicy') or ('Orphan' if options.get('orphanDependents') else None)
            if policy not in (None, 'Orphan', 'Foreground', 'Background'):
                f = errors.FieldErrors()
                f.unsupported('propagationPolicy', policy, ('Foreground', 'Background', 'Orphan', 'nil'))
                f.raise_if_any(Resource('', 'v1', '', 'DeleteOptions'), '')
            if policy is None and res.kind == 'Job':
                policy = 'Orphan'                   # batch/v1's own default; clients send Background
            for p, f in (('Orphan', 'orphan'), ('Foreground', 'foregroundDeletion')):
                if policy == p and f not in finalizers:
                    finalizers.append(f)
                elif policy and policy != p and f in finalizers:
                    finalizers.remove(f)
            grace = options.get('gracePeriodSeconds')
            if res.kind == 'Pod':
                grace = self._pod_grace(old, grace)
                if m.get('deletionTimestamp') and grace >= m.get('deletionGracePeriodSeconds', 30) and finalizers == (m.get('finalizers') or []):
                    return old
            elif m.get('deletionTimestamp') and finalizers == (m.get('finalizers') or []) and finalizers:
                return old
            else:
                grace = 0
            if res.kind == 'Namespace' and not m.get('deletionTimestamp'):
                new['status'] = {'phase': 'Terminating'}
                finalizers.append('kubernetes')     # stands for spec.finalizers; the namespace controller takes it away
            nm = new['metadata']
            nm['deletionTimestamp'] = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + grace))
            nm['deletionGracePeriodSeconds'] = grace
            if finalizers:
                nm['finalizers'] = finalizers
            else:
                nm.pop('finalizers', None)
            if nm.get('generation') and not m.get('deletionTimestamp'):
                nm['generation'] += 1
            if finalizers or grace > 0:
                return self.store.put(self.key(res), new)
            if res.kind == 'Service':
                self.rules.ips.give_back(dig(old, 'spec.clusterIP'))
            self.store.remove(self.key(res), new)
            return new if res.kind == 'Pod' else self._gone(res, old)

    @staticmethod
    def _pod_grace(pod, asked):
        """Pods that no kubelet runs, or that are over, go at once; 0 means now."""
        if not dig(pod, 'spec.nodeName') or dig(pod, 'status.phase') in ('Succeeded', 'Failed'):
            return 0
        return pod['spec'].get('terminationGracePeriodSeconds', 30) if asked is None else max(0, asked)

    @staticmethod
    def _gone(res, obj):
        details = {'name': obj['metadata']['name'], 'kind': res.plural, 'uid': obj['metadata']['uid']}
        if res.group:
            details['group'] = res.group
        return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'details': details}

    # ------------------------------------------------------------ for controllers
    def change(self, res, obj, fn, sub=''):
        """Applies fn to a copy of the current object of the same uid and stores it, past the rules of updates.

        Returns None when the object is gone or fn returns False."""
        with self.store.lock:
            cur = self.store.get(self.key(res), obj['metadata'].get('namespace'), obj['metadata']['name'])
            if cur is None or cur['metadata']['uid'] != obj['metadata']['uid']:
                return None
            new = clone(cur)
            if fn(new) is False or new == cur:
                return cur
            m = new['metadata']
            if m.get('deletionTimestamp') and not m.get('finalizers') and (res.kind != 'Pod' or m.get('deletionGracePeriodSeconds') == 0):
                self.store.put(self.key(res), new)
                self.store.remove(self.key(res), new)
                return None
            return self.store.put(self.key(res), new)
