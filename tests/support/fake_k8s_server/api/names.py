# SPDX-License-Identifier: Apache-2.0
"""Names, labels, selectors, quantities and times: the small grammars of the API."""
import calendar
import decimal
import random
import re
import time

from . import errors

LABEL_TEXT = ("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
              "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')")
SUBDOMAIN_TEXT = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
                  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")
LABEL_1035_TEXT = ("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
                   "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
                   "'[a-z]([-a-z0-9]*[a-z0-9])?')")
KEY_TEXT = ("name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")
VALUE_TEXT = ("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
              "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
              "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")
_LABEL = re.compile(r'[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z')
_LABEL_1035 = re.compile(r'[a-z]([-a-z0-9]*[a-z0-9])?\Z')
_SUBDOMAIN = re.compile(r'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z')
_KEY = re.compile(r'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z')
_SUFFIX = 'bcdfghjklmnpqrstvwxz2456789'


def label_errors(s):
    return (['must be no more than 63 characters'] if len(s) > 63 else []) + ([] if _LABEL.match(s) else [LABEL_TEXT])


def label_1035_errors(s):
    return (['must be no more than 63 characters'] if len(s) > 63 else []) + ([] if _LABEL_1035.match(s) else [LABEL_1035_TEXT])


def subdomain_errors(s):
    return (['must be no more than 253 characters'] if len(s) > 253 else []) + ([] if _SUBDOMAIN.match(s) else [SUBDOMAIN_TEXT])


def path_segment_errors(s):
    """RBAC names are free but for what a URL path cannot hold."""
    return ["may not be '%s'" % s] if s in ('.', '..') else ["may not contain '%s'" % c for c in '/%' if c in s]


def key_errors(s):
    parts = s.split('/')
    if len(parts) > 2:
        return ["a qualified name " + KEY_TEXT[10:] + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    out = []
    if len(parts) == 2:
        out += ['prefix part ' + e for e in (['must be non-empty'] if not parts[0] else subdomain_errors(parts[0]))]
    name = parts[-1]
    if not name:
        return out + ['name part must be non-empty', KEY_TEXT]
    return out + (['name part must be no more than 63 characters'] if len(name) > 63 else []) + ([] if _KEY.match(name) else [KEY_TEXT])


def value_errors(s):
    return (['must be no more than 63 characters'] if len(s) > 63 else []) + ([] if s == '' or _KEY.match(s) else [VALUE_TEXT])


def check_labels(labels, path, errs):
    for k, v in (labels or {}).items():
        for e in key_errors(k):
            errs.invalid(path, k, e)
        for e in value_errors(v):
            errs.invalid(path, v, e)


def check_annotations(annotations, path, errs):
    total = 0
    for k, v in (annotations or {}).items():
        for e in key_errors(k.lower()):
            errs.invalid(path, k, e)
        total += len(k) + len(v)
    if total > 262144:
        errs._put('FieldValueTooLong', path, 'Too long: may not be more than 262144 bytes')


def random_suffix():
    return ''.join(random.choice(_SUFFIX) for _ in range(5))


def now():
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())


def now_micro():
    t = time.time()
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(t)) + '.%06dZ' % int(t % 1 * 1e6)


def seconds_of(stamp):
    """The time of an RFC 3339 stamp as seconds since the epoch."""
    return calendar.timegm(time.strptime(stamp[:19], '%Y-%m-%dT%H:%M:%S'))


# ---------------------------------------------------------------- quantities
_QUANTITY = re.compile(r'([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?\Z')
_UNITS = {'n': '1e-9', 'u': '1e-6', 'm': '1e-3', None: '1', 'k': '1e3', 'M': '1e6', 'G': '1e9', 'T': '1e12', 'P': '1e15', 'E': '1e18'}
QUANTITY_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def quantity(q):
    """The value of a quantity, exact; ValueError with the server's words when it is none."""
    m = _QUANTITY.match(str(q))
    if not m:
        raise ValueError(QUANTITY_TEXT)
    number, unit = decimal.Decimal(m.group(1)), m.group(2)
    if unit and unit[-1:] == 'i':
        return number * (1 << (10 * ('KMGTPE'.index(unit[0]) + 1)))
    return number * decimal.Decimal(_UNITS[unit] if unit in _UNITS else '1' + unit)


# ---------------------------------------------------------------- selectors
_REQ = re.compile(r'\s*(!)?\s*([^\s=!,()<>]+)\s*(?:(==|=|!=|<|>|\bin\b|\bnotin\b)\s*(\([^)]*\)|[^,\s]*))?\s*(?:,|\Z)')


def parse_label_selector(text):
    """A predicate on label dictionaries; ApiError 400 for text that is no selector."""
    reqs, pos = [], 0
    while pos < len(text):
        m = _REQ.match(text, pos)
        if not m or m.end() == pos:
            raise errors.bad_request('unable to parse requirement: found \'%s\', expected: identifier' % text[pos:])
        neg, key, op, val = m.groups()
        bad = key_errors(key)
        vals = []
        if op in ('in', 'notin'):
            if not val.startswith('('):
                raise errors.bad_request("unable to parse requirement: found '%s', expected: '('" % val)
            vals = [v.strip() for v in val[1:-1].split(',')]
        elif op:
            vals = [val]
        for v in vals:
            bad += value_errors(v)
        if bad:
            raise errors.bad_request('unable to parse requirement: ' + '; '.join(bad))
        reqs.append((key, '!' if neg else op or 'exists', vals))
        pos = m.end()

    def match(labels):
        labels = labels or {}
        for key, op, vals in reqs:
            have, v = key in labels, labels.get(key)
            if op == 'exists':
                ok = have
            elif op == '!':
                ok = not have
            elif op in ('=', '==', 'in'):
                ok = have and v in vals
            elif op in ('!=', 'notin'):
                ok = not have or v not in vals
            else:
                ok = have and v.lstrip('-').isdigit() and (int(v) > int(vals[0]) if op == '>' else int(v) < int(vals[0]))
            if not ok:
                return False
        return True
    return match


def match_selector(sel, labels):
    """Whether a LabelSelector object selects the labels; an absent one selects nothing."""
    if sel is None:
        return False
    labels = labels or {}
    for k, v in (sel.get('matchLabels') or {}).items():
        if labels.get(k) != v:
            return False
    for e in sel.get('matchExpressions') or []:
        if not match_expression(e, labels):
            return False
    return True


def match_expression(e, labels):
    k, op, vals = e['key'], e['operator'], e.get('values') or []
    v = labels.get(k)
    if op == 'In':
        return v in vals
    if op == 'NotIn':
        return v is None or v not in vals
    if op == 'Exists':
        return v is not None
    if op == 'DoesNotExist':
        return v is None
    try:
        return v is not None and (int(v) > int(vals[0]) if op == 'Gt' else int(v) < int(vals[0]))
    except ValueError:
        return False


def clone(o):
    """A deep copy of a JSON value."""
    if isinstance(o, dict):
        return {k: clone(v) for k, v in o.items()}
    if isinstance(o, list):
        return [clone(v) for v in o]
    return o


def dig(o, path):
    """The value at a dotted path, or None."""
    for k in path.split('.'):
        if not isinstance(o, dict):
            return None
        o = o.get(k)
    return o
