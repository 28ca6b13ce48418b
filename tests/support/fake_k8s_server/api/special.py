# SPDX-License-Identifier: Apache-2.0
"""Requests that store nothing under their own name: evictions, bindings, tokens, questions about rights."""
import time

from . import errors, names, schema
from .names import dig


class Special:
    def __init__(self, registry, catalog, authorizer, credentials, cluster, scheduler):
        self.registry, self.catalog, self.authorizer = registry, catalog, authorizer
        self.credentials, self.cluster, self.scheduler = credentials, cluster, scheduler

    def create(self, user, r, obj):
        """The answer's object."""
        if r.sub == 'eviction':
            return self._evict(r, obj)
        if r.sub == 'binding':
            return self._bind(r, obj)
        if r.sub == 'token':
            return self._token(r, obj)
        obj, _ = schema.decode(obj, r.res.kind, r.res.api_version)
        if r.res.kind == 'SelfSubjectReview':
            obj['status'] = {'userInfo': {'username': user.name, 'groups': list(user.groups)}}
            return obj
        a = dig(obj, 'spec.resourceAttributes') or {}
        allowed = self.authorizer.allows(user, a.get('verb', ''), a.get('group', ''), a.get('resource', ''), a.get('subresource', ''),
                                         a.get('namespace', ''), a.get('name', ''))
        obj['status'] = {'allowed': allowed} if allowed else {'allowed': False, 'reason': ''}
        return obj

    def _evict(self, r, obj):
        pod = self.registry.get(r.res, r.ns, r.name)
        options = (obj or {}).get('deleteOptions') or {}
        uid = (options.get('preconditions') or {}).get('uid')
        if uid and uid != pod['metadata']['uid']:
            raise errors.conflict(r.res, r.name, 'Precondition failed: UID in precondition: %s, UID in object meta: %s' % (uid, pod['metadata']['uid']))
        grace = {'gracePeriodSeconds': options['gracePeriodSeconds']} if 'gracePeriodSeconds' in options else {}
        self.cluster.evict(pod, 'EvictionByEvictionAPI', 'Eviction API: evicting', grace)
        return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'code': 201}

    def _bind(self, r, obj):
        pod = self.registry.get(r.res, r.ns, r.name)
        if pod['spec'].get('nodeName'):
            raise errors.conflict(r.res, r.name, 'pod %s is already assigned to node "%s"' % (r.name, pod['spec']['nodeName']))
        self.scheduler.bind(pod, dig(obj, 'target.name'))
        return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'code': 201}

    def _token(self, r, obj):
        account = self.registry.get(r.res, r.ns, r.name)
        seconds = dig(obj, 'spec.expirationSeconds') or 3600
        token = self.credentials.service_account_token(r.ns, r.name, account['metadata']['uid'], None, seconds)
        end = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + seconds))
        return {'kind': 'TokenRequest', 'apiVersion': 'authentication.k8s.io/v1', 'metadata': {'name': r.name, 'namespace': r.ns,
                'creationTimestamp': names.now()}, 'spec': (obj or {}).get('spec') or {}, 'status': {'token': token, 'expirationTimestamp': end}}
