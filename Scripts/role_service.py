# SPDX-License-Identifier: MIT
"""The Security Token Service on loopback, as far as a sweep needs it: each request gets credentials of its own."""

import contextlib
import http.server
import threading
import time

ANSWER = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA{number}</AccessKeyId>
<SecretAccessKey>sk-{number}</SecretAccessKey><SessionToken>st-{number}</SessionToken>
<Expiration>{end}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""
ROLE = "arn:aws:iam::123456789012:role/deploy"


class RoleService:
    def __init__(self) -> None:
        self.given = 0
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.given += 1
                end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
                body = ANSWER.format(number=service.given, end=end).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/xml")
                self.send_header("Content-Length", str(len(body)))
                # The agent may have been killed meanwhile.
                with contextlib.suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Says nothing: the sweep prints a table."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
