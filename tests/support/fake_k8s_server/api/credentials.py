# SPDX-License-Identifier: Apache-2.0
"""The certificate authority, the server's certificate, tokens and kubeconfigs; made anew at each start."""
import base64
import hashlib
import hmac
import json
import os
import secrets
import ssl
import subprocess
import time

from .authorization import User


def write_private(path, text):
    """Writes a file that only its owner reads, also when one was there before."""
    tmp = path + '.tmp'
    fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.replace(tmp, path)


def _openssl(*args):
    p = subprocess.run(('openssl',) + args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
    if p.returncode:
        raise RuntimeError('openssl %s failed: %s' % (args[0], p.stdout.decode(errors='replace').strip()))


def _b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


class Credentials:
    """`folder` (0700) holds the keys and one kubeconfig per user; `addresses` are the server's names and addresses."""

    def __init__(self, folder, addresses):
        self.folder = folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._tokens, self._key = {}, secrets.token_bytes(32)
        self._authority()
        self._issue('server', '/CN=kube-apiserver', 'serverAuth', ','.join(
            ('IP:' if a.replace('.', '').isdigit() else 'DNS:') + a for a in addresses))

    def _file(self, name):
        return os.path.join(self.folder, name)

    def _key_file(self, name):
        old = os.umask(0o077)
        try:
            _openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', self._file(name + '.key'))
        finally:
            os.umask(old)

    def _authority(self):
        self._key_file('ca')
        _openssl('req', '-x509', '-new', '-key', self._file('ca.key'), '-subj', '/CN=fake-k8s-ca', '-days', '30', '-out', self._file('ca.crt'),
                 '-addext', 'keyUsage=critical,keyCertSign,cRLSign')

    def _issue(self, name, subject, usage, alt=''):
        self._key_file(name)
        ext = self._file(name + '.ext')
        with open(ext, 'w') as f:
            f.write('basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=%s\n%s' % (usage, 'subjectAltName=%s\n' % alt if alt else ''))
        _openssl('req', '-new', '-key', self._file(name + '.key'), '-subj', subject, '-out', self._file(name + '.csr'))
        _openssl('x509', '-req', '-in', self._file(name + '.csr'), '-CA', self._file('ca.crt'), '-CAkey', self._file('ca.key'), '-days', '30',
                 '-set_serial', str(secrets.randbits(62)), '-extfile', ext, '-out', self._file(name + '.crt'))
        os.unlink(self._file(name + '.csr'))
        os.unlink(ext)

    @property
    def ca_pem(self):
        with open(self._file('ca.crt')) as f:
            return f.read()

    def server_context(self):
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.minimum_version = ssl.TLSVersion.TLSv1_2
        ctx.load_cert_chain(self._file('server.crt'), self._file('server.key'))
        ctx.load_verify_locations(self._file('ca.crt'))
        ctx.verify_mode = ssl.CERT_OPTIONAL
        ctx.set_alpn_protocols(['http/1.1'])
        return ctx

    def user(self, url, user, groups, namespace='default', certificate=False):
        """Gives the user a token (or a client certificate) and returns the path of their kubeconfig."""
        if certificate:
            self._issue('user-' + user, ''.join('/O=' + g for g in groups) + '/CN=' + user, 'clientAuth')
            data = lambda ext: base64.b64encode(open(self._file('user-%s.%s' % (user, ext)), 'rb').read()).decode()
            auth = {'client-certificate-data': data('crt'), 'client-key-data': data('key')}
        else:
            token = secrets.token_urlsafe(32)
            self._tokens[hashlib.sha256(token.encode()).digest()] = User(user, tuple(groups) + ('system:authenticated',))
            auth = {'token': token}
        config = {'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'fake', 'preferences': {},
                  'clusters': [{'name': 'fake', 'cluster': {'server': url, 'certificate-authority-data': base64.b64encode(self.ca_pem.encode()).decode()}}],
                  'users': [{'name': user, 'user': auth}],
                  'contexts': [{'name': 'fake', 'context': {'cluster': 'fake', 'user': user, 'namespace': namespace}}]}
        path = self._file(user + '.conf')
        write_private(path, json.dumps(config, indent=1) + '\n')
        return path

    # ------------------------------------------------------------ service accounts
    def service_account_token(self, ns, name, uid, pod=None, seconds=3607):
        """A bound token, in the form (not the algorithm) of the real ones."""
        claims = {'iss': 'https://kubernetes.default.svc.cluster.local', 'aud': ['https://kubernetes.default.svc.cluster.local'],
                  'sub': 'system:serviceaccount:%s:%s' % (ns, name), 'iat': int(time.time()), 'exp': int(time.time() + seconds),
                  'kubernetes.io': {'namespace': ns, 'serviceaccount': {'name': name, 'uid': uid}}}
        if pod:
            claims['kubernetes.io']['pod'] = {'name': pod['metadata']['name'], 'uid': pod['metadata']['uid']}
        text = _b64(b'{"alg":"HS256"}') + '.' + _b64(json.dumps(claims).encode())
        return text + '.' + _b64(hmac.digest(self._key, text.encode(), 'sha256'))

    def _account_of(self, token):
        head, _, signature = token.rpartition('.')
        if not hmac.compare_digest(_b64(hmac.digest(self._key, head.encode(), 'sha256')), signature):
            return None
        payload = head.split('.')[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + '=' * (-len(payload) % 4)))
        if claims['exp'] < time.time():
            return None
        k = claims['kubernetes.io']
        return User(claims['sub'], ('system:serviceaccounts', 'system:serviceaccounts:' + k['namespace'], 'system:authenticated'), k['serviceaccount']['uid'])

    def authenticate(self, header, certificate):
        """The user of a request, or None.  A client certificate counts before a token, as in the real server."""
        if certificate:
            subject = [(k, v) for rdn in certificate.get('subject', ()) for k, v in rdn]
            name = next((v for k, v in subject if k == 'commonName'), '')
            groups = tuple(v for k, v in subject if k == 'organizationName')
            return User(name, groups + ('system:authenticated',))
        if not header.startswith('Bearer '):
            return None
        token = header[7:].strip()
        user = self._tokens.get(hashlib.sha256(token.encode()).digest())
        if user or token.count('.') != 2:
            return user
        return self._account_of(token)
