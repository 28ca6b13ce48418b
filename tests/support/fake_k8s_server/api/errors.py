# SPDX-License-Identifier: Apache-2.0
"""API errors: each is an HTTP code and a Status object worded as kube-apiserver words it."""


class ApiError(Exception):
    """An error answer; the request has had no effect."""

    def __init__(self, code, reason, message, details=None, headers=None):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details, self.headers = details, headers or {}

    def status(self):
        out = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure', 'message': self.message,
               'reason': self.reason}
        if self.details is not None:
            out['details'] = self.details
        out['code'] = self.code
        return out


def _details(res, name):
    out = {}
    if name:
        out['name'] = name
    if res.group:
        out['group'] = res.group
    out['kind'] = res.plural
    return out


def _named(res, name):
    return '%s "%s"' % (res.qualified, name) if name else res.qualified


def not_found(res, name):
    return ApiError(404, 'NotFound', '%s not found' % _named(res, name), _details(res, name))


def no_such_resource():
    return ApiError(404, 'NotFound', 'the server could not find the requested resource', {})


def already_exists(res, name):
    return ApiError(409, 'AlreadyExists', '%s already exists' % _named(res, name), _details(res, name))


def conflict(res, name, why='the object has been modified; please apply your changes to the latest version and try again'):
    return ApiError(409, 'Conflict', 'Operation cannot be fulfilled on %s: %s' % (_named(res, name), why), _details(res, name))


def forbidden(res, name, why):
    return ApiError(403, 'Forbidden', '%s is forbidden: %s' % (_named(res, name), why), _details(res, name))


def bad_request(message):
    return ApiError(400, 'BadRequest', message)


def unauthorized():
    return ApiError(401, 'Unauthorized', 'Unauthorized')


def method_not_allowed():
    return ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})


def unsupported_media(accepted):
    return ApiError(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format - accepted media types include: '
                    + ', '.join(accepted), {})


def expired(message):
    return ApiError(410, 'Expired', message)


def too_many_requests(seconds, message='the server has received too many requests and has asked us to try again later'):
    return ApiError(429, 'TooManyRequests', message, {'retryAfterSeconds': seconds}, {'Retry-After': str(seconds)})


def internal(message):
    return ApiError(500, 'InternalError', 'Internal error occurred: ' + message, {'causes': [{'message': message}]})


def show(value):
    """A value as Go's field errors print it."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, str):
        return '"%s"' % value.replace('\\', '\\\\').replace('"', '\\"')
    if value is None:
        return 'null'
    if isinstance(value, (dict, list)):
        import json
        return json.dumps(value, separators=(',', ':'))
    return str(value)


class FieldErrors(list):
    """Collects the causes of one 422 answer, in the order in which the checks find them."""

    def _put(self, reason, field, message):
        self.append({'reason': reason, 'message': message, 'field': field})

    def required(self, field, detail=''):
        self._put('FieldValueRequired', field, 'Required value' + (': ' + detail if detail else ''))

    def invalid(self, field, value, detail):
        self._put('FieldValueInvalid', field, 'Invalid value: %s: %s' % (show(value), detail))

    def unsupported(self, field, value, allowed):
        self._put('FieldValueNotSupported', field, 'Unsupported value: %s: supported values: %s'
                  % (show(value), ', '.join(show(a) for a in allowed)))

    def duplicate(self, field, value):
        self._put('FieldValueDuplicate', field, 'Duplicate value: ' + show(value))

    def missing(self, field, value):
        self._put('FieldValueNotFound', field, 'Not found: ' + show(value))

    def not_allowed(self, field, detail):
        self._put('FieldValueForbidden', field, 'Forbidden: ' + detail)

    def raise_if_any(self, res, name):
        if not self:
            return
        texts = ['%s: %s' % (c['field'], c['message']) for c in self]
        kind = res.kind + ('.' + res.group if res.group else '')
        text = texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'
        details = {'name': name} if name else {}
        if res.group:
            details['group'] = res.group
        details.update(kind=res.kind, causes=list(self))
        raise ApiError(422, 'Invalid', ('%s "%s" is invalid: %s' % (kind, name or '', text)).lstrip(), details)
