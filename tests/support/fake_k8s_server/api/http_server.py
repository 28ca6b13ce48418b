# SPDX-License-Identifier: Apache-2.0
"""HTTPS: parses requests, authenticates, authorizes, and dispatches to the registry, the watches and the kubelet."""
import http.server
import json
import socketserver
import urllib.parse

from . import discovery, errors, protobuf, registry, schema, tables, watch
from .resources import SUB_KINDS


_MAX_BODY = 3 << 20
_UPGRADED = ('exec', 'portforward')           # become another protocol, by GET or POST
_VERBS = {'POST': 'create', 'PUT': 'update', 'PATCH': 'patch', 'DELETE': 'delete'}


class Request:
    """One parsed API path."""

    def __init__(self, catalog, method, path, query):
        parts = [urllib.parse.unquote(p) for p in path.strip('/').split('/')]
        self.query, self.ns, self.name, self.sub = query, '', '', ''
        if parts[0] == 'api':
            group, version, rest = '', parts[1], parts[2:]
        else:
            group, version, rest = parts[1], parts[2], parts[3:]
        if len(rest) >= 2 and rest[0] == 'namespaces' and (len(rest) > 2 and rest[2] not in ('status', 'finalize')):
            self.ns, rest = rest[1], rest[2:]
        self.res = catalog.find(group, version, rest[0])
        if self.res is None or len(rest) > 3 or '' in rest:
            raise errors.no_such_resource()
        self.name = rest[1] if len(rest) > 1 else ''
        self.sub = rest[2] if len(rest) > 2 else ''
        if self.sub and self.sub not in self.res.sub:
            raise errors.no_such_resource()
        if self.ns and not self.res.namespaced or not self.ns and self.res.namespaced and (self.name or method == 'POST'):
            raise errors.no_such_resource()
        self.watching = method == 'GET' and not self.sub and query.get('watch') in ('1', 'true')
        if method == 'GET':
            self.verb = 'get' if self.name and not self.watching else 'watch' if self.watching else 'list'
        elif method == 'DELETE' and not self.name:
            self.verb = 'deletecollection'
        else:
            self.verb = _VERBS.get(method, '')
        if self.sub in _UPGRADED:
            self.verb = 'create' if method == 'POST' else 'get'
        allowed = SUB_KINDS[self.sub][1] if self.sub else self.res.verbs
        if self.verb not in allowed or method == 'POST' and self.name and not self.sub or method in ('PUT', 'PATCH') and not self.name:
            raise errors.method_not_allowed()
        if self.watching and self.name:
            query['fieldSelector'] = 'metadata.name=' + self.name


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection; the server object carries the parts (`parts`)."""
    protocol_version = 'HTTP/1.1'
    timeout = 600
    rbufsize = -1
    wbufsize = 65536
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """The calls are counted, not logged."""

    def setup(self):
        self.request.settimeout(10)
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.request.settimeout(self.timeout)
        super().setup()

    # ------------------------------------------------------------ answers
    def send_json(self, obj, code=200, warnings=(), headers=None):
        raw = json.dumps(obj, separators=(',', ':'), ensure_ascii=False).encode() + b'\n'
        self.send_raw(raw, 'application/json', code, dict(headers or {}), warnings)

    def send_raw(self, raw, ctype, code=200, headers=None, warnings=()):
        self.send_response(code)
        self.send_header('Content-Type', ctype)
        self.send_header('Content-Length', str(len(raw)))
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        for w in warnings:
            self.send_header('Warning', '299 - "%s"' % w.replace('\\', '\\\\').replace('"', '\\"'))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(raw)
        self.wfile.flush()

    def send_error_status(self, e):
        if e.headers.get('Connection') == 'close':
            self.close_connection = True
        self.send_json(e.status(), e.code, headers=e.headers)

    def body(self):
        n = self.headers.get('Content-Length')
        if self.headers.get('Transfer-Encoding', '').lower() == 'chunked':
            out = b''
            while True:
                size = int(self.rfile.readline(64).split(b';')[0], 16)
                if len(out) + size > _MAX_BODY:
                    break
                out += self.rfile.read(size)
                self.rfile.readline(64)
                if size == 0:
                    return out
            n = _MAX_BODY + 1
        n = int(n or 0)
        if n > _MAX_BODY or n < 0:
            self.close_connection = True
            raise errors.ApiError(413, 'RequestEntityTooLarge', 'Request entity too large: limit is %d' % _MAX_BODY, {})
        return self.rfile.read(n)

    # ------------------------------------------------------------ dispatch
    def _handle(self):
        p = self.server.parts
        try:
            raw = self.body()
            url = urllib.parse.urlsplit(self.path)
            query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
            self.query_lists = urllib.parse.parse_qs(url.query, keep_blank_values=True)
            user = p.credentials.authenticate(self.headers.get('Authorization', ''), self.request.getpeercert())
            path = url.path
            if path in ('/healthz', '/livez', '/readyz', '/version', '/version/'):
                return self.send_json(discovery.VERSION) if 'version' in path else self.send_raw(b'ok', 'text/plain; charset=utf-8')
            if user is None:
                p.faults.count('', self.command.lower(), path)
                raise errors.unauthorized()
            seg = path.strip('/').split('/')
            if seg[0] == 'api' and len(seg) > 2 or seg[0] == 'apis' and len(seg) > 3:
                return self._api(user, Request(p.catalog, self.command, path, query), raw)
            p.faults.count(user.name, self.command.lower(), path)
            found = self._discover(seg)
            if found is None:
                return self.send_raw(b'404 page not found\n', 'text/plain; charset=utf-8', 404)
            return self.send_json(found)
        except errors.ApiError as e:
            return self.send_error_status(e)
        except ConnectionAbortedError:
            self.close_connection = True
            return None

    def _discover(self, seg):
        c = self.server.parts.catalog
        if seg == ['api']:
            return {'kind': 'APIVersions', 'versions': ['v1'], 'serverAddressByClientCIDRs': []}
        if seg == ['apis']:
            return discovery.groups(c)
        if seg[0] == 'api':
            return discovery.resource_list(c, '', seg[1])
        if seg[0] == 'apis':
            return discovery.group(c, seg[1]) if len(seg) == 2 else discovery.resource_list(c, seg[1], seg[2])
        if seg == ['openapi', 'v3']:
            return discovery.openapi_root(c)
        if seg[:2] == ['openapi', 'v3'] and len(seg) > 3:
            return discovery.openapi(c, '', seg[3]) if seg[2] == 'api' else discovery.openapi(c, seg[3], seg[4]) if len(seg) > 4 else None
        return None

    def _api(self, user, r, raw):
        p = self.server.parts
        shown = r.res.plural + ('/' + r.sub if r.sub else '')
        p.faults.count(user.name, r.verb, shown)
        p.faults.apply(user.name, r.verb, shown)
        p.authorizer.check(user, r.verb, r.res, r.sub, r.ns or (r.name if r.res.kind == 'Namespace' else ''), r.name)
        ctype = self.headers.get('Content-Type', '').split(';')[0].strip()
        obj = None
        if raw:
            if ctype not in ('', 'application/json', protobuf.MEDIA_TYPE) + registry.PATCH_TYPES and r.verb != 'delete':
                raise errors.unsupported_media(('application/json', protobuf.MEDIA_TYPE))
            obj = protobuf.decode(raw) if ctype == protobuf.MEDIA_TYPE else schema.parse_json(raw)
        elif r.verb in ('create', 'update', 'patch') and r.sub not in _UPGRADED:
            raise errors.bad_request('the body of the request is empty')
        if r.verb == 'watch':
            return watch.serve(self, r)
        if r.sub in ('log', 'exec', 'portforward'):
            streams = {'log': p.pod_streams.log, 'exec': p.pod_streams.exec, 'portforward': p.pod_streams.port_forward}
            return streams[r.sub](self, r)
        warnings, code = [], 200
        if r.verb == 'get':
            out = p.registry.get(r.res, r.ns, r.name)
        elif r.verb == 'list':
            out = p.registry.list(r.res, r.ns, r.query)
        elif r.sub in ('eviction', 'binding', 'token') or not r.res.stored:
            out, code = p.special.create(user, r, obj), 201
        elif r.verb == 'create':
            self._no_escalation(user, r, obj)
            (out, warnings), code = p.registry.create(r.res, r.ns, obj, r.query, user), 201
        elif r.verb == 'update':
            self._no_escalation(user, r, obj)
            out, warnings = p.registry.update(r.res, r.ns, r.name, obj, r.sub, r.query)
        elif r.verb == 'patch':
            out, warnings, created = p.registry.patch(r.res, r.ns, r.name, ctype, obj, r.sub, r.query)
            code = 201 if created else 200
        else:
            options = dict(self._delete_options(obj), **{k: r.query[k] for k in ('propagationPolicy', 'dryRun') if k in r.query})
            if r.query.get('gracePeriodSeconds', '').isdigit():
                options['gracePeriodSeconds'] = int(r.query['gracePeriodSeconds'])
            if r.verb == 'delete':
                out = p.registry.delete(r.res, r.ns, r.name, options, user)
            else:
                out = p.registry.list(r.res, r.ns, r.query)
                for o in out['items']:
                    try:
                        p.registry.delete(r.res, o['metadata'].get('namespace', ''), o['metadata']['name'], options, user)
                    except errors.ApiError as e:
                        if e.code != 404:
                            raise
        return self.send_json(self._as_asked(r, out), code, warnings)

    @staticmethod
    def _delete_options(obj):
        if obj is None:
            return {}
        return schema.decode(dict(obj), 'DeleteOptions', 'v1')[0]

    def _no_escalation(self, user, r, obj):
        """Who gives rights must hold them, as in the real server."""
        p = self.server.parts
        if r.res.kind in ('Role', 'ClusterRole'):
            missing = p.authorizer.escalation(user, r.ns, (obj or {}).get('rules'))
            if missing:
                raise errors.forbidden(r.res, (obj.get('metadata') or {}).get('name', ''),
                                       'user "%s" (groups=["%s"]) is attempting to grant RBAC permissions not currently held:\n%s'
                                       % (user.name, '" "'.join(user.groups), '\n'.join(missing)))

    def _as_asked(self, r, out):
        accept = self.headers.get('Accept', '')
        if 'as=Table' not in accept or out.get('kind') == 'Status':
            if r.verb == 'list':                 # items of a list carry no kind and apiVersion
                out = dict(out, items=[{k: v for k, v in o.items() if k not in ('kind', 'apiVersion')} for o in out['items']])
            return out
        include = r.query.get('includeObject', 'Metadata')
        if r.verb == 'list':
            return tables.table(r.res, out['items'], out['metadata'], include)
        return tables.table(r.res, [out], {'resourceVersion': out['metadata'].get('resourceVersion', '')}, include)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens on (address, port); `parts` holds what the handlers use.  `sock`: a listening socket made elsewhere."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, address, context, parts=None, sock=None):
        super().__init__(address, Handler, bind_and_activate=sock is None)
        if sock is not None:
            self.socket.close()
            self.socket, self.server_address = sock, sock.getsockname()
        self.context, self.parts = context, parts

    def handle_error(self, *_):
        """Clients that hang up are no error of the server; real errors were answered as 500."""
        import sys
        import traceback
        e = sys.exc_info()[1]
        if not isinstance(e, (OSError, EOFError)):
            traceback.print_exc()
