# SPDX-License-Identifier: Apache-2.0
"""A fake of Docker's engine: as much of the Engine API as sinew uses, on a Unix socket.  Containers are processes in
namespaces, whose root is a copy-on-write view of the host's; their network is the host's.

  python3 fake_docker --dir FOLDER --image app [--registry NAME] [--private NAME] [--hide PATH] [--lie HOW]

It writes "ready" to FOLDER/ready, what is created and how it ends to FOLDER/log, and ends when its parent ends.
"""
import argparse
import http.server
import json
import os
import signal
import socketserver
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from fake_docker.engine import Engine, Refused, with_tag    # noqa: E402
from fake_k8s_server.kubelet import linux                   # noqa: E402

MIN, MAX = (1, 24), (1, 47)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def address_string(self):
        return 'local'

    def log_message(self, *_):
        pass

    def answer(self, status, value=None):
        data = b'' if value is None else json.dumps(value).encode() + b'\n'
        lie = self.server.lie
        if lie == 'cut-json' and '/containers/create' in self.path:
            data = data[:len(data) // 2]
        self.send_response(status)
        self.send_header('Connection', 'close')
        self.send_header('Api-Version', '1.2' if lie == 'old' else '%d.%d' % MAX)
        if data:
            self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(data) + (1000 if lie == 'short-body' and data else 0)))
        if lie == 'endless-head':
            try:
                while True:
                    self.wfile.write(b'X-More: ' + b'x' * 1000 + b'\r\n')
            except OSError:
                return
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(data)
        self.close_connection = True

    def begin_chunks(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True

    def chunk(self, data):
        self.wfile.write(b'%x\r\n' % len(data) + data + b'\r\n')
        self.wfile.flush()

    def serve(self):
        try:
            url = urllib.parse.urlsplit(self.path)
            query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
            parts = [urllib.parse.unquote(p) for p in url.path.strip('/').split('/')]
            if parts[0][:1] == 'v' and parts[0][1:2].isdigit():
                version = tuple(map(int, parts.pop(0)[1:].split('.')))
                if version < MIN:
                    raise Refused(400, 'client version %d.%d is too old. Minimum supported API version is %d.%d' % (version + MIN))
                if version > MAX:
                    raise Refused(400, 'client version %d.%d is too new. Maximum supported API version is %d.%d' % (version + MAX))
            size = int(self.headers.get('Content-Length') or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            route = getattr(self, 'on_' + parts[0].lstrip('_'), None)
            if not route:
                raise Refused(404, 'page not found')
            route(self.command, parts[1:], query, body)
        except Refused as e:
            self.answer(e.status, {'message': e.message})
        except (BrokenPipeError, ConnectionResetError):
            pass

    do_GET = do_POST = do_DELETE = do_HEAD = serve

    def on_ping(self, *_):
        self.answer(200, 'OK')

    def on_version(self, *_):
        self.answer(200, {'ApiVersion': '%d.%d' % MAX, 'MinAPIVersion': '%d.%d' % MIN, 'Version': 'fake'})

    def on_images(self, method, parts, query, _):
        engine = self.server.engine
        if parts == ['create'] and method == 'POST':
            return self.pull(with_tag(query['fromImage'] + (':' + query['tag'] if query.get('tag') else '')))
        name = '/'.join(parts[:-1])
        if parts[-1] != 'json' or method != 'GET':
            raise Refused(404, 'page not found')
        if with_tag(name) not in engine.images:
            raise Refused(404, 'No such image: %s' % with_tag(name))
        self.answer(200, {'Id': 'sha256:0', 'RepoTags': [with_tag(name)]})

    def pull(self, image):
        engine = self.server.engine
        if image in engine.private:
            raise Refused(404, "pull access denied for %s, repository does not exist or may require 'docker login'" % image)
        self.begin_chunks()
        lines = [{'status': 'Pulling from ' + image, 'id': 'latest'}]
        if image not in engine.registry:
            lines.append({'errorDetail': {'message': 'manifest unknown'}, 'error': 'manifest for %s not found: manifest unknown' % image})
        else:
            lines += [{'status': 'Downloading', 'progressDetail': {'current': n, 'total': 9}, 'id': 'abc'} for n in range(9)]
            lines += [{'status': 'Pull complete', 'progressDetail': {}, 'id': 'abc'}]
            engine.images.add(image)
        for line in lines:
            data = json.dumps(line).encode() + b'\r\n'
            self.chunk(data[:5])
            self.chunk(data[5:])
        self.wfile.write(b'0\r\n\r\n')

    def on_networks(self, method, parts, query, body):
        engine = self.server.engine
        if parts == ['create'] and method == 'POST':
            self.answer(201, {'Id': engine.add_network(body)['Id'], 'Warning': ''})
        elif not parts:
            wanted = json.loads(query.get('filters', '{}')).get('label', [])
            self.answer(200, [n for n in engine.networks.values()
                              if all(n['Labels'].get(k) == v if s else k in n['Labels']
                                     for k, s, v in (w.partition('=') for w in wanted))])
        elif method == 'DELETE':
            engine.remove_network(parts[0])
            self.answer(204)
        else:
            self.answer(200, engine.network(parts[0]))

    def on_containers(self, method, parts, query, body):
        engine = self.server.engine
        if parts == ['create'] and method == 'POST':
            return self.answer(201, {'Id': engine.create(query.get('name', ''), body).id, 'Warnings': []})
        if parts == ['json']:
            wanted = json.loads(query.get('filters', '{}')).get('label', [])
            return self.answer(200, [
                {'Id': c.id, 'Names': ['/' + c.name], 'Image': c.body['Image'], 'State': c.state, 'Created': c.created,
                 'Labels': c.body.get('Labels') or {}, 'Status': c.state}
                for c in list(engine.containers.values())
                if c.has_labels(wanted) and (query.get('all') in ('1', 'true') or c.state == 'running')])
        c = engine.container(parts[0])
        if method == 'DELETE':
            engine.remove(c, query.get('force') in ('1', 'true'))
            return self.answer(204)
        verb = parts[1] if len(parts) > 1 else ''
        if verb == 'json':
            return self.answer(200, {'Id': c.id, 'Name': '/' + c.name, 'Config': c.body, 'HostConfig': c.host,
                                     'State': {'Status': c.state, 'Running': c.state == 'running', 'ExitCode': c.code or 0}})
        if verb == 'start':
            return self.answer(204 if engine.start(c) else 304)
        if verb == 'kill':
            c.kill(getattr(signal, query.get('signal', 'SIGKILL')))
            return self.answer(204)
        if verb == 'wait':
            return self.wait(c, query.get('condition', 'not-running'))
        if verb == 'attach':
            return self.attach(c)
        if verb == 'logs':
            return self.logs(c, query)
        raise Refused(404, 'page not found')

    def wait(self, c, condition):
        self.begin_chunks()
        ends = {'removed': ('removed',), 'not-running': ('created', 'exited', 'removed')}.get(condition, ('exited', 'removed'))
        with c.changed:
            while c.state not in ends:
                c.changed.wait()
        self.chunk(json.dumps({'StatusCode': c.code or 0}).encode() + b'\n')
        self.wfile.write(b'0\r\n\r\n')

    def attach(self, c):
        upgraded = self.headers.get('Upgrade') == 'tcp'
        self.wfile.write((b'HTTP/1.1 101 UPGRADED\r\n' if upgraded else b'HTTP/1.1 200 OK\r\n') +
                         b'Content-Type: application/vnd.docker.raw-stream\r\n' +
                         (b'Connection: Upgrade\r\nUpgrade: tcp\r\n' if upgraded else b'') + b'\r\n')
        self.wfile.flush()
        self.close_connection = True
        lie = self.server.lie
        if lie == 'huge-frame':
            self.wfile.write(b'\x02\0\0\0\xff\xff\xff\xff' + b'all of 4 GiB\n')
        if lie == 'no-frames':
            self.wfile.write(b'this is no frame at all')

        def take_input():
            try:
                for data in iter(lambda: self.rfile.read1(65536), b''):
                    c.write_stdin(data)
            except (OSError, ValueError):
                pass
            c.write_stdin(b'')
        threading.Thread(target=take_input, daemon=True).start()
        for frames in c.follow(0):
            self.wfile.write(frames)
        self.connection.shutdown(2)

    def logs(self, c, query):
        follow = query.get('follow') in ('1', 'true')
        self.begin_chunks()
        if follow:
            for frames in c.follow(0):
                self.chunk(frames)
        else:
            with c.changed:
                frames = list(c.frames)
            if query.get('tail', 'all') != 'all':
                frames = frames[-int(query['tail']):] if int(query['tail']) else []
            if frames:
                self.chunk(b''.join(frames))
        self.wfile.write(b'0\r\n\r\n')


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads, request_queue_size = True, 64

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(*_)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--dir', required=True)
    for name in ('image', 'registry', 'private', 'hide'):
        parser.add_argument('--' + name, action='append', default=[])
    parser.add_argument('--lie', default='')
    o = parser.parse_args()
    linux.die_with_parent(signal.SIGTERM)
    server = Server(os.path.join(o.dir, 'docker.sock'), Handler)
    server.engine = Engine(o.dir, o.image, o.registry, o.private, o.hide)
    server.lie = o.lie
    signal.signal(signal.SIGTERM, lambda *_: (server.engine.stop(), os._exit(0)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(os.path.join(o.dir, 'ready'), 'w') as f:
        f.write('ready\n')
    while True:
        time.sleep(3600)


main()
