# SPDX-License-Identifier: Apache-2.0
"""The rules of the API without a running server: formats, validation, patches, rights, Job arithmetic."""
import unittest

import rig
from fake_k8s_server.api import names, patch, pod_security, protobuf, schema
from fake_k8s_server.api.authorization import Authorizer, User
from fake_k8s_server.api.errors import ApiError
from fake_k8s_server.api.registry import Registry
from fake_k8s_server.api.resources import Catalog
from fake_k8s_server.api.store import Store
from fake_k8s_server.api.strategies import Strategies
from fake_k8s_server.controllers import job_rules
from fake_k8s_server.kubelet.network import ClusterIPs


class Rules(unittest.TestCase):
    def setUp(self):
        self.store, self.catalog = Store(window=4), Catalog()
        self.registry = Registry(self.store, self.catalog, Strategies(self.store, self.catalog, ClusterIPs('10.96', False)))
        self.create('namespaces', '', {'metadata': {'name': 'ml'}})
        self.create('serviceaccounts', 'ml', {'metadata': {'name': 'default'}})

    def create(self, plural, ns, obj, **query):
        return self.registry.create(self.catalog[plural], ns, obj, query)[0]

    def refused(self, code, call, *args, **kw):
        with self.assertRaises(ApiError) as e:
            call(*args, **kw)
        self.assertEqual(e.exception.code, code, e.exception.message)
        return e.exception

    def job(self, **spec):
        return {'metadata': {'name': 'j'}, 'spec': dict({'completions': 2, 'parallelism': 2, 'completionMode': 'Indexed', 'template': {'spec': {
            'restartPolicy': 'Never', 'containers': [{'name': 'main', 'image': 'a'}]}}}, **spec)}

    def change(self, job, **spec):
        new = names.clone(job)
        new['spec'].update(spec)
        return self.registry.update(self.catalog['jobs'], 'ml', 'j', new)

    def test_unknown_field_is_an_error_only_when_strict(self):
        e = self.refused(400, self.create, 'jobs', 'ml', self.job(paralelism=3), fieldValidation='Strict')
        self.assertEqual(e.message, 'Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field "spec.paralelism"')
        _, warnings = self.registry.create(self.catalog['jobs'], 'ml', self.job(paralelism=3))
        self.assertEqual(warnings, ['unknown field "spec.paralelism"'])

    def test_wrong_type_is_a_bad_request(self):
        e = self.refused(400, self.create, 'jobs', 'ml', self.job(completions='2'))
        self.assertIn('cannot unmarshal string into Go struct field JobSpec.spec.completions of type int32', e.message)

    def test_invalid_names_all_its_causes(self):
        spec = {'containers': [{'name': 'A', 'image': ''}], 'restartPolicy': 'Sometimes'}
        e = self.refused(422, self.create, 'pods', 'ml', {'metadata': {'name': 'p'}, 'spec': spec})
        fields = [(c['reason'], c['field']) for c in e.details['causes']]
        self.assertEqual(fields, [('FieldValueInvalid', 'spec.containers[0].name'), ('FieldValueRequired', 'spec.containers[0].image'),
                                  ('FieldValueNotSupported', 'spec.restartPolicy')])
        self.assertTrue(e.message.startswith('Pod "p" is invalid: [spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label'))

    def test_job_spec_is_immutable_but_for_elastic_completions(self):
        job = self.create('jobs', 'ml', self.job())
        self.change(job, completions=3, parallelism=3)
        job = self.store.get('jobs', 'ml', 'j')
        e = self.refused(422, self.change, job, completions=4)
        self.assertEqual(e.message, 'Job.batch "j" is invalid: spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism')
        template = names.clone(job['spec']['template'])
        template['spec']['containers'][0]['image'] = 'b'
        self.assertIn('spec.template', self.refused(422, self.change, job, template=template).message)

    def test_job_needs_a_restart_policy(self):
        job = self.job()
        del job['spec']['template']['spec']['restartPolicy']
        e = self.refused(422, self.create, 'jobs', 'ml', job)
        self.assertEqual(e.message, 'Job.batch "j" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"')

    def test_update_of_an_old_version_conflicts(self):
        job = self.create('jobs', 'ml', self.job())
        self.change(job, parallelism=1)
        e = self.refused(409, self.change, job, parallelism=2)
        self.assertEqual(e.message, 'Operation cannot be fulfilled on jobs.batch "j": the object has been modified; please apply your changes to '
                         'the latest version and try again')

    def test_names_that_exist_or_are_none_are_refused(self):
        self.create('services', 'ml', {'metadata': {'name': 'a'}, 'spec': {'ports': [{'port': 1}]}})
        e = self.refused(409, self.create, 'services', 'ml', {'metadata': {'name': 'a'}, 'spec': {'ports': [{'port': 1}]}})
        self.assertEqual((e.reason, e.message), ('AlreadyExists', 'services "a" already exists'))
        self.refused(422, self.create, 'services', 'ml', {'metadata': {'name': '1a'}, 'spec': {'ports': [{'port': 1}]}})
        self.refused(404, self.create, 'secrets', 'absent', {'metadata': {'name': 'a'}})

    def test_quota_is_kept(self):
        self.create('resourcequotas', 'ml', {'metadata': {'name': 'q'}, 'spec': {'hard': {'pods': '0'}}})
        pod = {'metadata': {'name': 'p'}, 'spec': {'containers': [{'name': 'c', 'image': 'a'}]}}
        e = self.refused(403, self.create, 'pods', 'ml', pod)
        self.assertEqual(e.message, 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0')

    def test_restricted_pods_must_say_so(self):
        bad = pod_security.violations({'containers': [{'name': 'main', 'image': 'a'}]}, 'restricted')
        self.assertEqual(', '.join(bad), 'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false), '
                         'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or '
                         'container "main" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "main" must set '
                         'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")')
        good = {'securityContext': {'runAsNonRoot': True, 'seccompProfile': {'type': 'RuntimeDefault'}}, 'containers': [
            {'name': 'main', 'securityContext': {'allowPrivilegeEscalation': False, 'capabilities': {'drop': ['ALL']}}}]}
        self.assertEqual(pod_security.violations(good, 'restricted'), [])

    def test_patches(self):
        old = {'spec': {'containers': [{'name': 'a', 'image': '1'}, {'name': 'b', 'image': '1'}], 'x': 1}}
        self.assertEqual(patch.strategic(old, {'spec': {'containers': [{'name': 'b', 'image': '2'}, {'name': 'a', '$patch': 'delete'}], 'x': None}}),
                         {'spec': {'containers': [{'name': 'b', 'image': '2'}]}})
        self.assertEqual(patch.merge(old, {'spec': {'containers': []}}), {'spec': {'containers': [], 'x': 1}})
        self.assertEqual(patch.json_patch(old, [{'op': 'test', 'path': '/spec/x', 'value': 1}, {'op': 'remove', 'path': '/spec/containers/0'},
                                                {'op': 'add', 'path': '/spec/y', 'value': 2}]),
                         {'spec': {'containers': [{'name': 'b', 'image': '1'}], 'x': 1, 'y': 2}})
        self.refused(422, patch.json_patch, old, [{'op': 'test', 'path': '/spec/x', 'value': 2}])

    def test_selectors(self):
        match = names.parse_label_selector('a=1,b!=2,c in (x,y),d,!e')
        self.assertTrue(match({'a': '1', 'c': 'x', 'd': ''}))
        for labels in ({'a': '1', 'c': 'z', 'd': ''}, {'a': '1', 'c': 'x', 'd': '', 'e': ''}, {'a': '1', 'b': '2', 'c': 'x', 'd': ''}):
            self.assertFalse(match(labels))
        self.refused(400, names.parse_label_selector, 'a in x')

    def test_pages_of_a_list(self):
        for i in range(5):
            self.create('secrets', 'ml', {'metadata': {'name': 's%d' % i}})
        one = self.registry.list(self.catalog['secrets'], 'ml', {'limit': '2'})
        self.assertEqual(one['metadata']['remainingItemCount'], 3)
        self.assertEqual([o['metadata']['name'] for o in self.registry.list(self.catalog['secrets'], 'ml', {'limit': '9', 'continue': one['metadata']['continue']})
                          ['items']], ['s2', 's3', 's4'])
        self.store.compact()
        e = self.refused(410, self.registry.list, self.catalog['secrets'], 'ml', {'continue': one['metadata']['continue']})
        self.assertEqual(e.reason, 'Expired')

    def test_history_ends_at_the_window(self):
        rv = self.store.rv
        for i in range(6):
            self.create('secrets', 'ml', {'metadata': {'name': 's%d' % i}})
        self.assertIsNone(self.store.since('secrets', rv))
        self.assertEqual([c.obj['metadata']['name'] for c in self.store.since('secrets', self.store.rv - 2)], ['s4', 's5'])

    def test_rights_come_from_bindings_in_the_namespace(self):
        alice, auth = User('alice', ('system:authenticated',)), Authorizer(self.store)
        self.create('roles', 'ml', {'metadata': {'name': 'r'}, 'rules': [{'verbs': ['get'], 'apiGroups': [''], 'resources': ['pods', 'pods/log']}]})
        self.create('rolebindings', 'ml', {'metadata': {'name': 'b'}, 'roleRef': {'kind': 'Role', 'name': 'r'}, 'subjects': [{'kind': 'User', 'name': 'alice'}]})
        pods = self.catalog['pods']
        auth.check(alice, 'get', pods, 'log', 'ml', 'p')
        e = self.refused(403, auth.check, alice, 'create', self.catalog['jobs'], '', 'ml', '')
        self.assertEqual(e.message, 'jobs.batch is forbidden: User "alice" cannot create resource "jobs" in API group "batch" in the namespace "ml"')
        self.refused(403, auth.check, alice, 'get', pods, '', 'other', 'p')
        auth.drop('alice', 'get', 'pods')
        self.refused(403, auth.check, alice, 'get', pods, '', 'ml', 'p')

    def test_immutable_secret(self):
        s = self.create('secrets', 'ml', {'metadata': {'name': 's'}, 'immutable': True, 'stringData': {'a': 'b'}})
        self.assertEqual(s['data'], {'a': 'Yg=='})
        e = self.refused(422, self.registry.patch, self.catalog['secrets'], 'ml', 's', 'application/merge-patch+json', {'data': {'a': ''}})
        self.assertEqual(e.message, 'Secret "s" is invalid: data: Forbidden: field is immutable when `immutable` is set')

    def test_protobuf_of_kubectl_create(self):
        raw = bytes.fromhex('6b3873000a0c0a02763112065365637265741''21f0a130a036b657912001a0022002a0032003800420012060a01611201621a001a002200')
        self.assertEqual(protobuf.decode(raw), {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'key'}, 'data': {'a': 'Yg=='}})
        for n in range(len(raw)):                      # a truncated body is refused, or read as what is left
            try:
                protobuf.decode(raw[:n])
            except ApiError as e:
                self.assertIn(e.code, (400, 415))

    def test_indexes(self):
        self.assertEqual(job_rules.format_indexes({0, 1, 2, 5, 7, 8}), '0-2,5,7,8')
        self.assertEqual(job_rules.parse_indexes('0-2,5,7,8'), {0, 1, 2, 5, 7, 8})
        self.assertEqual([job_rules.backoff(10.0, n) for n in (0, 1, 2, 9)], [0.0, 10.0, 20.0, 600.0])

    def test_decoder_refuses_what_is_no_object(self):
        self.refused(400, schema.decode, [], 'Pod', 'v1')
        self.refused(400, schema.parse_json, b'{')


if __name__ == '__main__':
    rig.main()
