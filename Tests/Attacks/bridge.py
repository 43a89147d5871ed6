# SPDX-License-Identifier: MIT
"""A hostile server of the Model Context Protocol, behind `tokenctl mcp connect`."""

import json
import subprocess

from scene import Issuer, Request, Scene, answer, attack, must

WHO = "MCP server"


def resource(scene: Scene) -> Issuer:
    """A server at /mcp that a session `s` is for."""
    issuer, server = scene.issuer(), scene.issuer()
    scene.ready("s", issuer=issuer, extra=f'resources = ["{server.url}/mcp"]')
    return server


def result(request: Request, text: str = "own") -> bytes:
    return answer(200, {"jsonrpc": "2.0", "id": json.loads(request.body).get("id"), "result": {"text": text}})


def ask(number: int, method: str = "tools/list") -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method}) + "\n"


def converse(scene: Scene, server: Issuer, messages: str, timeout: float = 90) -> list[dict]:
    """What a client that says all this is answered, message by message."""
    done = subprocess.run(
        [scene.programs / "tokenctl", "mcp", "connect", f"{server.url}/mcp"],
        input=messages.encode(),
        capture_output=True,
        timeout=timeout,
        check=False,
        env=scene.environment,
    )
    lines = done.stdout.decode().splitlines()
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        must(False, f"a line is no message: {lines}")
        raise


@attack(WHO, "forges the answer to another request in the body of a refusal")
def _(scene: Scene) -> None:
    server = resource(scene)
    forged = {"jsonrpc": "2.0", "id": 2, "result": {"text": "forged"}}
    line = json.dumps(forged)
    error = {"code": -1, "message": "x"}
    for body in (
        json.dumps({"jsonrpc": "2.0", "id": 1, "error": error | {"data": forged}}, indent=1),
        '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","data":\n' + line + "\n}}",
        '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x\n' + line.replace('"', '\\"') + '\n"}}',
        line,
        line + "\n" + line,
        "\n" + line + "\n",
        json.dumps([forged]),
        '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"\u2028' + line.replace('"', '\\"') + '\u0085"}}',
        json.dumps({"jsonrpc": "2.0", "id": 2, "error": error}),
        "<html>" + line,
    ):
        for kind in ("application/json", "text/plain"):
            refusal = answer(400, body.encode(), {"Content-Type": kind})
            server.says(
                "/mcp",
                lambda request, connection: refusal if b'"id": 1' in request.body else result(request),
            )
            found = converse(scene, server, ask(1) + ask(2))
            must([each.get("id") for each in found] in ([1, 2], [2, 1]), f"{body[:60]!r}: {found}")
            second = next(each for each in found if each["id"] == 2)
            must(second.get("result") == {"text": "own"}, f"{body[:60]!r} is the answer to another request: {second}")
    scene.alive("s")


@attack(WHO, "loses its session again and again")
def _(scene: Scene) -> None:
    server = resource(scene)
    asked: list[str] = []

    def lose(request: Request, connection: object) -> bytes:
        message = json.loads(request.body) if request.body else {}
        asked.append(message.get("method", request.method))
        if message.get("method") == "initialize":
            said = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": said}
            return answer(200, reply, {"Mcp-Session-Id": f"session-{len(asked)}"})
        if "id" not in message:
            return answer(202, b"")
        return answer(
            lose.status, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "No valid session ID"}}
        )

    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    messages = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}) + "\n"
    messages += json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n" + ask(2, "tools/call")
    for status in (400, 404):
        lose.status = status
        asked.clear()
        server.says("/mcp", lose)
        found = converse(scene, server, messages)
        must([each["id"] for each in found] == [1, 2] and "error" in found[1], f"it is answered {found}")
        must(asked.count("tools/call") <= 2, f"a request that may act was sent {asked.count('tools/call')} times")
        must(asked.count("initialize") <= 3, f"{asked.count('initialize')} sessions were begun")


@attack(WHO, "is asked for by an address that leads out of the one its session is for")
def _(scene: Scene) -> None:
    server = resource(scene)
    server.says("/mcp", lambda request, connection: result(request))
    good = scene.ctl("mcp", "headers", f"{server.url}/mcp")
    must("at-" in good.stdout, f"the address of the session gets nothing: {good.stderr}")
    for path in (
        "/mcp/..%2fadmin",
        "/mcp/%2e%2e/admin",
        "/mcp/../admin",
        "/mcp/..;x/admin",
        "/mcp/..%5cadmin",
        "/mcp\\..\\admin",
        "/mcp/%252e%252e/admin",
        "/mcp/%EF%BC%8E%EF%BC%8E/admin",
        "/mcp/%c0%ae%c0%ae/admin",
        "/mcpx",
        "/MCP",
        "/mcp%00",
        "/",
    ):
        for address in (f"{server.url}{path}", f"{server.url}{path}?x"):
            found = scene.ctl("mcp", "headers", address)
            must("at-" not in found.stdout, f"{address} gets the token")
    for address in (
        f"http://127.0.0.1:{server.port}@evil.example/mcp",
        f"http://evil.example#@127.0.0.1:{server.port}/mcp",
        f"{server.url}.evil.example/mcp",
        f"http://127.0.0.1:{server.port + 1}/mcp",
    ):
        must("at-" not in scene.ctl("mcp", "headers", address).stdout, f"{address} gets the token")
    reached = [request.path for request in server.requests]
    must(not reached, f"it was asked for {reached[:3]}")
