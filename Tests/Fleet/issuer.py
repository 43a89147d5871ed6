# SPDX-License-Identifier: MIT
"""issuer.py ADDRESS LIFETIME [CERTIFICATE KEY]: a token endpoint that tells a judge everything, a line of JSON each.

Logins are by password, of which any is right; a session's name is its user's. Orders come in lines of JSON on standard
input: {"session": prefix, "fault": "lost" | "502" | "none", "before": seconds, "after": seconds, "count": number,
"life": seconds}. `lost` acts and closes the connection, `502` acts and answers as a gateway does; `before` and `after`
wait before and after the act. Of orders for one session the latest counts. Ends with its standard input."""

import contextlib
import http.server
import json
import secrets
import ssl
import struct
import socket
import sys
import threading
import time
import urllib.parse

from authorization import Server

server, lock, speaking = Server(), threading.Lock(), threading.Lock()
orders: list[dict] = []
number = 0
life = 60


def tell(**event) -> None:
    with speaking:
        print(json.dumps({"time": time.monotonic(), **event}), flush=True)


def order_for(session: str) -> dict:
    """The fault that is next for this session, used up by one."""
    for order in reversed(orders):
        if session.startswith(order["session"]) and order["count"] > 0:
            order["count"] -= 1
            return order
    return {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def log_message(self, *_words) -> None:
        """Nothing: the judge is told instead."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if self.path == "/revoke":
            return self._revoke(form)
        if form.get("grant_type") == "password":
            return self._log_in(form["username"])
        if form.get("grant_type") == "refresh_token":
            return self._refresh(form["refresh_token"])
        return self._answer(400, {"error": "unsupported_grant_type"})

    def _log_in(self, session: str) -> None:
        with lock:
            family, token = server.log_in(session)
        access = f"at-{secrets.token_urlsafe(24)}"
        tell(event="login", session=session, family=family.number, token=token.text, access=access, host=self.client_address)
        self._answer(200, self._tokens(token.text, access))

    def _tokens(self, refresh: str, access: str) -> dict:
        return {"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": life}

    def _refresh(self, text: str) -> None:
        global number
        with lock:
            number += 1
            mine = number
            token = server.tokens.get(text)
            session = server.families[token.family].session if token else ""
            order = order_for(session)
        tell(event="received", number=mine, session=session, token=text, host=self.client_address,
             family=token.family if token else -1, generation=token.generation if token else -1)
        time.sleep(order.get("before", 0))
        with lock:
            result, successor = server.refresh(text, time.monotonic())
        access = f"at-{secrets.token_urlsafe(24)}" if successor else None
        tell(event="acted", number=mine, result=result, token=successor and successor.text, access=access,
             generation=successor.generation if successor else -1, session=session)
        time.sleep(order.get("after", 0))
        fault, status = order.get("fault", "none"), 200 if successor else 400
        delivered = False
        with contextlib.suppress(OSError):
            if fault == "lost":
                self._reset()
            elif fault == "502":
                status = 502
                self._answer(502, {})
            elif successor:
                delivered = self._answer(200, self._tokens(successor.text, access))
            else:
                self._answer(400, {"error": "invalid_grant"})
        tell(event="answered", number=mine, status=status, fault=fault, delivered=delivered, session=session)

    def _revoke(self, form: dict) -> None:
        with lock:
            family = server.revoke(form.get("token", ""))
        tell(event="revocation", family=family.number if family else -1, host=self.client_address)
        self._answer(200, {})

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _answer(self, status: int, body: dict) -> bool:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()
        return True


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    context: ssl.SSLContext | None = None

    def finish_request(self, request, client_address) -> None:
        """In the thread of the connection, so that a slow handshake holds up nobody."""
        if self.context:
            request.settimeout(20)
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address) -> None:
        """A host that was killed: the judge hears of it elsewhere."""


def main() -> None:
    global life
    listener = Listener((sys.argv[1], 0), Handler)
    life = int(sys.argv[2])
    if len(sys.argv) > 3:
        listener.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        listener.context.load_cert_chain(sys.argv[3], sys.argv[4])
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    tell(event="ready", port=listener.server_port)
    for line in sys.stdin:
        order = json.loads(line)
        with lock:
            life = order.pop("life", life)
            if order.pop("clear", False):
                orders.clear()
            if "session" in order:
                orders.append({"count": 1, **order})


if __name__ == "__main__":
    main()
