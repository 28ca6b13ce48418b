# SPDX-License-Identifier: Apache-2.0
"""The Job controller, for Indexed and other Jobs, with pod finalizers as batch/v1 has them."""
import time

from ..api import errors, names
from ..api.names import dig
from . import job_rules as rules
from .loop import Loop

_COMPONENT = 'job-controller'


class JobController:
    """`first_backoff`: seconds before the first re-creation after a failure.  `time_scale` divides the TTL and deadlines."""

    def __init__(self, store, registry, catalog, events, first_backoff=10.0, time_scale=1.0):
        self.store, self.registry, self.events = store, registry, events
        self.jobs, self.pods = catalog['jobs'], catalog['pods']
        self.first_backoff, self.scale = first_backoff, time_scale
        self._since = {}                               # job uid -> (failures in a row, monotonic time of the last)
        self.loop = Loop('job-controller', self._reconcile)

    def changed(self, res, change):
        """A listener of the store."""
        m = change.obj['metadata']
        if res == 'jobs':
            self.loop.add((m['namespace'], m['name']))
        elif res == 'pods':
            for r in m.get('ownerReferences') or []:
                if r.get('controller') and r['kind'] == 'Job':
                    self.loop.add((m['namespace'], r['name']))

    # ------------------------------------------------------------ pods
    def _owned(self, job):
        uid = job['metadata']['uid']
        return [p for p in self.store.list('pods', job['metadata']['namespace'])
                if any(r['uid'] == uid and r.get('controller') for r in p['metadata'].get('ownerReferences') or [])]

    def _untrack(self, pod):
        def fill(o):
            left = [f for f in o['metadata'].get('finalizers') or [] if f != rules.TRACKING]
            if left:
                o['metadata']['finalizers'] = left
            else:
                o['metadata'].pop('finalizers', None)
        return self.registry.change(self.pods, pod, fill)

    def _delete(self, job, pod):
        try:
            self.registry.delete(self.pods, pod['metadata']['namespace'], pod['metadata']['name'],
                                 {'preconditions': {'uid': pod['metadata']['uid']}})
            self.events.emit(job, 'SuccessfulDelete', 'Deleted pod: ' + pod['metadata']['name'], 'Normal', _COMPONENT)
        except errors.ApiError:
            pass                                       # it is gone already

    def _create(self, job, index, carried):
        obj = rules.pod_for(job, index)
        for k, n in carried.items():
            obj['metadata'].setdefault('annotations', {})[k] = str(n)
        try:
            pod, _ = self.registry.create(self.pods, job['metadata']['namespace'], obj)
        except errors.ApiError as e:
            self.events.emit(job, 'FailedCreate', 'Error creating: ' + e.message, 'Warning', _COMPONENT)
            self.loop.add_after((job['metadata']['namespace'], job['metadata']['name']), 1.0)
            return False
        self.events.emit(job, 'SuccessfulCreate', 'Created pod: ' + pod['metadata']['name'], 'Normal', _COMPONENT)
        return True

    # ------------------------------------------------------------ one Job
    def _reconcile(self, key):
        job = self.store.get('jobs', *key)
        self._orphans(key, job)
        if job is None or job['spec'].get('managedBy', 'kubernetes.io/job-controller') != 'kubernetes.io/job-controller':
            return
        if job['metadata'].get('deletionTimestamp'):
            for p in self._owned(job):
                if rules.phase(p) in ('Succeeded', 'Failed') or p['metadata'].get('deletionTimestamp'):
                    self._untrack(p)
            return
        if rules.finished(job):
            for p in self._owned(job):
                self._untrack(p)
            self._expire(job)
            return
        Pass(self, job).run()

    def _orphans(self, key, job):
        """Pods of a Job of this name that is gone lose the finalizer."""
        for p in self.store.list('pods', key[0]):
            owner = next((r for r in p['metadata'].get('ownerReferences') or [] if r.get('controller') and r['kind'] == 'Job'), None)
            tracked = rules.TRACKING in (p['metadata'].get('finalizers') or [])
            if tracked and (owner is None or owner['name'] == key[1] and (job is None or job['metadata']['uid'] != owner['uid'])):
                self._untrack(p)

    def _expire(self, job):
        ttl = job['spec'].get('ttlSecondsAfterFinished')
        if ttl is None:
            return
        end = max(names.seconds_of(c['lastTransitionTime']) for c in dig(job, 'status.conditions'))
        left = ttl / self.scale - (time.time() - end)
        m = job['metadata']
        if left > 0:
            self.loop.add_after((m['namespace'], m['name']), left + 0.01)
            return
        try:
            self.registry.delete(self.jobs, m['namespace'], m['name'], {'propagationPolicy': 'Foreground', 'preconditions': {'uid': m['uid']}})
        except errors.ApiError:
            pass


class Pass:
    """One look at one Job: counts what ended, decides the outcome, creates and deletes pods, writes the status."""

    def __init__(self, controller, job):
        self.c, self.job, self.spec = controller, job, job['spec']
        self.key = (job['metadata']['namespace'], job['metadata']['name'])
        self.status = names.clone(job.get('status') or {})
        self.indexed = self.spec['completionMode'] == 'Indexed'
        self.pods = controller._owned(job)
        self.done = rules.parse_indexes(self.status.get('completedIndexes'))
        self.bad = rules.parse_indexes(self.status.get('failedIndexes'))
        self.verdict = None                            # (reason, message) of a failure
        self.conditions = self.status.get('conditions') or []

    def _condition(self, kind, status, reason, message):
        old = next((c for c in self.conditions if c['type'] == kind), None)
        if old and old['status'] == status and old.get('reason') == reason:
            return False
        now = names.now()
        self.conditions = [c for c in self.conditions if c['type'] != kind] + [
            {'type': kind, 'status': status, 'lastProbeTime': now, 'lastTransitionTime': now, 'reason': reason, 'message': message}]
        return True

    def _has(self, kind):
        return next((c for c in self.conditions if c['type'] == kind and c['status'] == 'True'), None)

    # ------------------------------------------------------------ counting
    def _count(self):
        """Counts the ended pods that still carry the finalizer, once each."""
        untrack = []
        n = self.spec.get('completions')
        for p in self.pods:
            if rules.TRACKING not in (p['metadata'].get('finalizers') or []):
                continue
            i = rules.index_of(p)
            if rules.phase(p) == 'Succeeded':
                if not self.indexed:
                    self.status['succeeded'] = self.status.get('succeeded', 0) + 1
                elif 0 <= i < n:
                    self.done.add(i)
                self.c._since.pop(self.job['metadata']['uid'], None)
            elif rules.failed(self.job, p):
                self._count_failure(p, i)
            elif not p['metadata'].get('deletionTimestamp') or rules.phase(p) == 'Running' or not self._gone(p):
                continue
            untrack.append(p)
        if self.indexed:
            self.done = {i for i in self.done if i < n}
            self.bad = {i for i in self.bad if i < n}
            self.status['succeeded'] = len(self.done)
        return untrack

    @staticmethod
    def _gone(pod):
        return pod['metadata'].get('deletionGracePeriodSeconds') == 0 and not dig(pod, 'spec.nodeName')

    def _count_failure(self, p, i):
        action, message = rules.judge(self.job, p) if rules.phase(p) == 'Failed' else ('Count', None)
        if action == 'FailJob':
            self.verdict = self.verdict or ('PodFailurePolicy', message)
        if action != 'Ignore':
            self.status['failed'] = self.status.get('failed', 0) + 1
            uid = self.job['metadata']['uid']
            self.c._since[uid] = (self.c._since.get(uid, (0, 0))[0] + 1, time.monotonic() - max(0.0, time.time() - rules.finish_time(p) - 1))
        limit = self.spec.get('backoffLimitPerIndex')
        if limit is not None and self.indexed:
            seen = int((p['metadata'].get('annotations') or {}).get(rules.FAILURES, 0))
            if action == 'FailIndex' or action == 'Count' and seen >= limit:
                self.bad.add(i)

    def _restarts(self):
        return sum(s.get('restartCount', 0) for p in self.pods if rules.phase(p) in ('Running', 'Pending')
                   for s in dig(p, 'status.containerStatuses') or [])

    # ------------------------------------------------------------ outcome
    def _judge(self):
        """Sets `verdict` when the Job has failed."""
        if self.verdict:
            return
        start, deadline = self.status.get('startTime'), self.spec.get('activeDeadlineSeconds')
        if deadline is not None and start and not self.spec.get('suspend'):
            left = deadline / self.c.scale - (time.time() - names.seconds_of(start))
            if left <= 0:
                self.verdict = ('DeadlineExceeded', 'Job was active longer than specified deadline')
            else:
                self.c.loop.add_after(self.key, left + 0.01)
        failures = self.status.get('failed', 0)
        if self.spec['template']['spec']['restartPolicy'] == 'OnFailure':
            over = self._restarts() >= self.spec['backoffLimit'] if self.spec['backoffLimit'] else self._restarts() > 0
        else:
            over = False
        if not self.verdict and (failures > self.spec['backoffLimit'] or over):
            self.verdict = ('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
        most = self.spec.get('maxFailedIndexes')
        if not self.verdict and self.bad:
            if most is not None and len(self.bad) > most:
                self.verdict = ('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
            elif len(self.bad) + len(self.done) >= self.spec['completions']:
                self.verdict = ('FailedIndexes', 'Job has failed indexes')

    def _complete(self, active):
        n = self.spec.get('completions')
        if n is not None:
            if self.indexed:
                return len(self.done) >= n
            return self.status.get('succeeded', 0) >= n
        return self.status.get('succeeded', 0) > 0 and active == 0

    def run(self):
        if not self.status.get('startTime') and not self.spec.get('suspend'):
            self.status['startTime'] = names.now()
        untrack = self._count()
        self._judge()
        active = [p for p in self.pods if rules.active(self.job, p)]
        terminating = [p for p in self.pods if p['metadata'].get('deletionTimestamp') and rules.phase(p) not in ('Succeeded', 'Failed')]
        target = self._has('FailureTarget')
        ending = True
        if target and not self.verdict:
            self.verdict = (target['reason'], target['message'])
        if self.verdict:
            self._condition('FailureTarget', 'True', *self.verdict)
            self._end(active, terminating, 'Failed', *self.verdict)
        elif self._has('SuccessCriteriaMet') or self._complete(len(active)):
            why = ('CompletionsReached', 'Reached expected number of succeeded pods')
            self._condition('SuccessCriteriaMet', 'True', *why)
            self._end(active, terminating, 'Complete', *why)
        else:
            ending = False
        if not ending and self._suspension(active):
            active = []
        self._write(active, terminating)               # the counts are stored before the finalizers go
        for p in untrack:
            self.c._untrack(p)
        if not ending and not self.spec.get('suspend'):
            self._manage(active, terminating)

    def _end(self, active, terminating, kind, reason, message):
        for p in active:
            self.c._delete(self.job, p)
        if active or terminating:
            return                                     # the condition comes when all pods have ended
        if self._condition(kind, 'True', reason, message):
            if kind == 'Complete':
                self.status['completionTime'] = names.now()
                self.c.events.emit(self.job, 'Completed', 'Job completed', 'Normal', _COMPONENT)
            else:
                self.c.events.emit(self.job, reason, message, 'Warning', _COMPONENT)

    def _suspension(self, active):
        """Deletes the pods of a suspended Job; True when it did."""
        if self.spec.get('suspend'):
            for p in active:
                self.c._delete(self.job, p)
            if self._condition('Suspended', 'True', 'JobSuspended', 'Job suspended'):
                self.c.events.emit(self.job, 'Suspended', 'Job suspended', 'Normal', _COMPONENT)
            self.status.pop('startTime', None)
            return True
        if any(c['type'] == 'Suspended' for c in self.conditions):
            if self._condition('Suspended', 'False', 'JobResumed', 'Job resumed'):
                self.status['startTime'] = names.now()
                self.c.events.emit(self.job, 'Resumed', 'Job resumed', 'Normal', _COMPONENT)
        return False

    # ------------------------------------------------------------ pods wanted
    def _manage(self, active, terminating):
        hold = len(terminating) if self.spec['podReplacementPolicy'] == 'Failed' else 0
        want = self.spec['parallelism']
        if self.indexed:
            return self._manage_indexed(active, terminating, hold, want)
        n = self.spec.get('completions')
        if n is not None:
            want = min(want, n - self.status.get('succeeded', 0))
        elif self.status.get('succeeded', 0):
            want = len(active)
        for p in active[max(want, 0):]:
            self.c._delete(self.job, p)
        missing = want - len(active) - hold
        if missing > 0 and not self._wait():
            for _ in range(missing):
                if not self.c._create(self.job, None, {}):
                    break
        return None

    def _wait(self):
        """Whether re-creation must still wait after failures."""
        failures, last = self.c._since.get(self.job['metadata']['uid'], (0, 0))
        left = last + rules.backoff(self.c.first_backoff, failures) - time.monotonic()
        if failures and left > 0:
            self.c.loop.add_after(self.key, left)
            return True
        return False

    def _manage_indexed(self, active, terminating, hold, want):
        n, have, extra = self.spec['completions'], {}, []
        for p in sorted(active, key=lambda p: p['metadata']['creationTimestamp']):
            i = rules.index_of(p)
            if not 0 <= i < n or i in have or i in self.done or i in self.bad:
                extra.append(p)
            else:
                have[i] = p
        for i in sorted(have, reverse=True)[:max(0, len(have) - want)]:
            extra.append(have.pop(i))
        for p in extra:
            self.c._delete(self.job, p)
        blocked = {rules.index_of(p) for p in terminating} if hold else set()
        room = want - len(have) - hold
        missing = [i for i in range(n) if i not in have and i not in self.done and i not in self.bad and i not in blocked][:max(room, 0)]
        if not missing:
            return
        per_index = 'backoffLimitPerIndex' in self.spec
        fresh = [i for i in missing if not any(rules.index_of(p) == i for p in self.pods)]
        if self._wait():
            missing = fresh if per_index else []
        for i in missing:
            if not self.c._create(self.job, i, self._carried(i) if per_index else {}):
                break

    def _carried(self, i):
        """The failure counts that a replacement takes over from its predecessor."""
        count = ignored = 0
        for p in self.pods:
            if rules.index_of(p) == i and rules.failed(self.job, p):
                a = p['metadata'].get('annotations') or {}
                skip = rules.judge(self.job, p)[0] == 'Ignore'
                count = max(count, int(a.get(rules.FAILURES, 0)) + (not skip))
                ignored = max(ignored, int(a.get(rules.IGNORED, 0)) + skip)
        return {rules.FAILURES: count, **({rules.IGNORED: ignored} if ignored else {})}

    @staticmethod
    def _ready(pod):
        return any(c['type'] == 'Ready' and c['status'] == 'True' for c in dig(pod, 'status.conditions') or [])

    def _write(self, active, terminating):
        st = self.status
        finished = self._has('Complete') or self._has('Failed')
        numbers = {'active': 0 if finished else len(active), 'terminating': 0 if finished else len(terminating),
                   'ready': 0 if finished else sum(map(self._ready, active))}
        for k, v in numbers.items():
            st[k] = v
        for k in ('active', 'succeeded', 'failed'):
            if not st.get(k):
                st.pop(k, None)
        if self.indexed:
            for k, v in (('completedIndexes', self.done), ('failedIndexes', self.bad)):
                if v or k == 'failedIndexes' and 'backoffLimitPerIndex' in self.spec:
                    st[k] = rules.format_indexes(v)
                else:
                    st.pop(k, None)
        if self.conditions:
            st['conditions'] = self.conditions
        st['uncountedTerminatedPods'] = {}
        self.c.registry.change(self.c.jobs, self.job, lambda o: o.update(status=st))
