# SPDX-License-Identifier: Apache-2.0
"""An HTTPS server for tests: tls_server.py FOLDER [--named]. It makes an authority and certificates
in FOLDER, prints its port, answers each GET with the client's name, and ends when its standard input does."""
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading

folder = sys.argv[1]


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, cwd=folder, timeout=30,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificate(name, extension):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name + ".key",
            "-out", name + ".csr", "-subj", "/CN=" + name)
    with open(os.path.join(folder, name + ".ext"), "w", encoding="ascii") as file:
        file.write(extension)
    openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-out", name + ".pem", "-extfile", name + ".ext")


for authority in ("ca", "other"):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            authority + ".key", "-out", authority + ".pem", "-days", "2", "-subj", "/CN=" + authority)
certificate("server", "subjectAltName=DNS:kube.example\n" if "--named" in sys.argv
            else "subjectAltName=IP:127.0.0.1\n")
certificate("ann", "extendedKeyUsage=clientAuth\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        subject = self.connection.getpeercert() or {"subject": ()}
        names = [value for part in subject["subject"] for key, value in part if key == "commonName"]
        body = json.dumps({"client": names, "host": self.headers["Host"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
context.load_verify_locations(os.path.join(folder, "ca.pem"))
context.verify_mode = ssl.CERT_OPTIONAL


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass   # clients that do not trust the server: the test asks them


server = Server(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
