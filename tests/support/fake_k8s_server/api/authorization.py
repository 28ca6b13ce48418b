# SPDX-License-Identifier: Apache-2.0
"""Users, and what RBAC allows them."""
import dataclasses
import threading

from . import errors


@dataclasses.dataclass(frozen=True)
class User:
    name: str
    groups: tuple = ()
    uid: str = ''

    @property
    def master(self):
        return 'system:masters' in self.groups


def _covers(values, want):
    return '*' in values or want in values


def rule_allows(rule, verb, group, resource, sub, name):
    full = resource + '/' + sub if sub else resource
    if not (_covers(rule.get('verbs') or [], verb) and _covers(rule.get('apiGroups') or [], group)):
        return False
    listed = rule.get('resources') or []
    if not (_covers(listed, full) or sub and '*/' + sub in listed):
        return False
    only = rule.get('resourceNames') or []
    return not only or name in only


class Authorizer:
    """Answers from the stored Roles and bindings, less the rights that `drop` took away."""

    def __init__(self, store):
        self.store, self._dropped, self._lock = store, set(), threading.Lock()

    def drop(self, user, verb, resource):
        with self._lock:
            self._dropped.add((user, verb, resource))

    def restore(self):
        with self._lock:
            self._dropped.clear()

    @staticmethod
    def _is_subject(s, user, ns):
        if s.get('kind') == 'User':
            return s['name'] == user.name
        if s.get('kind') == 'Group':
            return s['name'] in user.groups
        return user.name == 'system:serviceaccount:%s:%s' % (s.get('namespace', ns), s.get('name'))

    def _rules(self, user, ns):
        for b in self.store.list('clusterrolebindings'):
            if any(self._is_subject(s, user, '') for s in b.get('subjects') or []):
                role = self.store.get('clusterroles', '', b['roleRef']['name'])
                yield from (role or {}).get('rules') or []
        if not ns:
            return
        for b in self.store.list('rolebindings', ns):
            if any(self._is_subject(s, user, ns) for s in b.get('subjects') or []):
                ref = b['roleRef']
                role = self.store.get('clusterroles', '', ref['name']) if ref['kind'] == 'ClusterRole' else self.store.get('roles', ns, ref['name'])
                yield from (role or {}).get('rules') or []

    def allows(self, user, verb, group, resource, sub='', ns='', name=''):
        full = resource + '/' + sub if sub else resource
        with self._lock:
            if {(user.name, v, r) for v in (verb, '*') for r in (full, '*')} & self._dropped:
                return False
        if user.master:
            return True
        if group in ('authorization.k8s.io', 'authentication.k8s.io') and resource.startswith('selfsubject'):
            return 'system:authenticated' in user.groups
        return any(rule_allows(r, verb, group, resource, sub, name) for r in self._rules(user, ns))

    def check(self, user, verb, res, sub, ns, name):
        """ApiError 403 with the server's words unless the user may."""
        if self.allows(user, verb, res.group, res.plural, sub, ns, name):
            return
        full = res.plural + '/' + sub if sub else res.plural
        where = 'in the namespace "%s"' % ns if ns else 'at the cluster scope'
        raise errors.forbidden(res, name if verb not in ('create', 'list', 'watch', 'deletecollection') or sub else '',
                               'User "%s" cannot %s resource "%s" in API group "%s" %s' % (user.name, verb, full, res.group, where))

    def escalation(self, user, ns, rules):
        """The rules that the user may not hand on, since they do not hold them themselves."""
        if user.master:
            return []
        own = list(self._rules(user, ns))
        missing = []
        for r in rules or []:
            for g in r.get('apiGroups') or ['']:
                for x in r.get('resources') or []:
                    res, _, sub = x.partition('/')
                    bad = [v for v in r.get('verbs') or [] if not any(rule_allows(o, v, g, res, sub, (r.get('resourceNames') or [''])[0]) for o in own)]
                    if bad:
                        missing.append('{APIGroups:["%s"], Resources:["%s"], Verbs:[%s]}' % (g, x, ' '.join('"%s"' % v for v in bad)))
        return missing
