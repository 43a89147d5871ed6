// SPDX-License-Identifier: MIT

import OAuthClient
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// `keys` inside an otherwise complete session, on the lines from 5 on.
private func session(_ keys: String) -> String {
    "[session.work]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n" + keys
}

struct SettingsMistakeTests {
    @Test func `more sessions than anybody has are one mistake, not one for each`() {
        let many = (0...10_000).map { "[session.s\($0)]\n" }.joined()
        #expect(complaints(many) == ["config.toml:1: session: contains 10001 sessions; the maximum is 10000"])
    }

    @Test(arguments: [
        ("[agnet]\n", "1: agnet: unknown key; did you mean agent?"),
        (
            "[agent]\nrefresh_befor = \"5m\"\n",
            "2: agent.refresh_befor: unknown key; did you mean refresh_before?"
        ),
        ("agent = 3\n", "1: agent: must be a table, not an integer"),
        (
            "[agent]\nrefresh_before = 300\n",
            "2: agent.refresh_before: must be a duration such as \"5m\" or \"1h30m\", not an integer"
        ),
        (
            "[agent]\nrefresh_before = \"300\"\n",
            "2: agent.refresh_before: \"300\" is not a duration; write a number and a unit (s, m, h, d), such as \"90s\""
        ),
        ("[agent]\nmin_validity = \"2d\"\n", "2: agent.min_validity: must be at most 1d, not \"2d\""),
        ("[agent]\nget_timeout = \"0s\"\n", "2: agent.get_timeout: must be 1s to 1h, not \"0s\""),
        (
            "[agent]\nlog_level = \"warn\"\n",
            "2: agent.log_level: \"warn\" is not one of critical, error, warning, notice, info, debug, trace"
        ),
        (
            "[hooks]\nevent = \"notify-send x\"\n",
            "2: hooks.event: must be an array of the program and its arguments, such as [\"pass\", \"show\", \"x\"]"
        ),
        ("[hooks]\nevent = [1]\n", "2: hooks.event: must contain only non-empty strings"),
        ("[vault]\nkeyfile = \"key\"\n", "2: vault.keyfile: must be an absolute path or begin with ~/"),
        (
            "[vault]\nrequire_locked_memory = 1\n",
            "2: vault.require_locked_memory: must be true or false, not an integer"
        ),
        ("session = 1\n", "1: session: must be a table, not an integer"),
        ("[session]\nwork = 1\n", "2: session.work: must be a table, as in [session.NAME], not an integer"),
        (
            "[session.\"a b\"]\nkind = \"oidc\"\n",
            "1: session.a b: session name must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        ),
        (
            "[session.w]\nkind = \"oicd\"\n",
            "2: session.w.kind: \"oicd\" is not one of oidc, oauth2, json, cognito, command, aws_sso, aws_role, github_app; did you mean oidc?"
        ),
        ("a = 1\na = 2\n", "2: duplicate key \"a\" (first on line 1)"),
    ])
    func `what is wrong is named with file, line and key`(text: String, message: String) {
        #expect(complaints(text) == ["config.toml:\(message)"])
    }

    @Test(arguments: [
        ("dpop = \"yes\"", "dpop: must be true or false, not a string"),
        ("issuer2 = \"x\"", "issuer2: unknown key; did you mean issuer?"),
        ("scopes = \"openid\"", "scopes: must be an array of strings, not a string"),
        (
            "scopes = [\"openid email\"]",
            "scopes: \"openid email\" is not a scope (one scope per element)"
        ),
        (
            "flow = \"implicit\"",
            "flow: \"implicit\" is not one of browser, device, password, client_credentials, import, token_exchange, jwt_bearer"
        ),
        (
            "flow = \"client_credentials\"",
            "flow: client_credentials requires a client secret, key or assertion"
        ),
        ("redirect_port = 70000", "redirect_port: must be 0 to 65535, not 70000"),
        ("redirect_port = \"1\"", "redirect_port: must be an integer, not a string"),
        ("client_secret = \"\"", "client_secret: must not be empty or contain a NUL character"),
        ("client_secret_file = \"secret\"", "client_secret_file: must be an absolute path or begin with ~/"),
        ("client_secret_command = []", "client_secret_command: must name a program"),
        ("ca_file = \"ca.pem\"", "ca_file: must be an absolute path or begin with ~/"),
        ("pins = [\"abc\"]", "pins: \"abc\" must be \"sha256/\" and the base64 of the 32 bytes of SHA-256"),
        ("resources = [\"/x\"]", "resources: \"/x\" must be an absolute URI without fragment"),
        ("max_session_age = \"0s\"", "max_session_age: must be 1s to 3650d, not \"0s\""),
        ("warn_before = \"0s\"", "warn_before: must be 1s to 3650d, not \"0s\""),
        (
            "reauth = [\"prompt\", \"command\"]\nreauth_command = [\"x\"]",
            "reauth: \"prompt\" must be the last step"
        ),
        ("reauth = [\"command\"]", "reauth_command: required: reauth contains \"command\""),
        ("reauth_command = [\"x\"]", "reauth_command: has no effect: reauth does not contain \"command\""),
        ("reauth = [\"finger\"]", "reauth: \"finger\" is not one of command, client_credentials, prompt"),
        (
            "allow = [\"/usr/bin/git\"]",
            "allow: must contain tables such as { exe = \"/usr/bin/git\" } or { unit = \"backup.service\" }"
        ),
        ("allow = [{ exe = \"git\" }]", "allow.exe: must be an absolute path or begin with ~/"),
        ("allow = [{ path = \"/x\", unit = \"u\" }]", "allow.path: unknown key"),
        ("allow = [{}]", "allow: requires exe, unit, proxy or confirm = true"),
        (
            "allow = [{ confirm = true }]",
            "allow: confirm = true requires the command hooks.confirm"
        ),
        (
            "allow = [{ unit = \"u\", sha256 = \"\(String(repeating: "a", count: 64))\" }]",
            "allow.sha256: requires exe"
        ),
        (
            "allow = [{ exe = \"/x\", sha256 = \"abc\" }]",
            "allow.sha256: must be 64 hexadecimal digits, as sha256sum prints them"
        ),
        (
            "hosts = [\"https://git.example.com\"]",
            "hosts: \"https://git.example.com\" is not a host such as \"git.example.com\", \"*.example.com\" or "
                + "\"user@git.example.com:8443\""
        ),
        ("prompt = \"none login\"", "prompt: must not combine \"none\" with other values"),
        ("prompt = 3", "prompt: must be a string, not an integer"),
        ("login_url = \"https://x\"", "login_url: unknown key"),
        ("region = \"x\"", "region: unknown key"),
    ])
    func `a bad key of a session is explained`(keys: String, message: String) throws {
        let found = complaints(session(keys))
        let expected = "session.work.\(message)"
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(": \(expected)") == true, "\(found) should be \(expected)")
    }

    @Test(arguments: [
        ("http://id.example", "must begin with https:// (plain http is for this machine only)"),
        (
            "http://localhost.example:1",
            "must begin with https:// (plain http is for this machine only)"
        ),
        (
            "https://login.example/{tenantid}/v2.0",
            "a template with {tenantid} requires metadata_url"
        ),
        ("ftp://id.example", "must begin with https://"),
        ("https://me:pw@id.example", "must not contain a user name or password"),
        ("https://id.example/#x", "must not contain a fragment (#)"),
        ("https://id.example/?x=1", "must not contain a query (?)"),
        ("id.example", "is not an absolute URL"),
    ])
    func `an issuer must be safe to send secrets to`(issuer: String, message: String) {
        let text = "[session.w]\nkind = \"oidc\"\nclient_id = \"c\"\nissuer = \"\(issuer)\"\n"
        #expect(complaints(text) == ["config.toml:4: session.w.issuer: \(message)"])
    }

    @Test func `plain http to a literal loopback address is accepted`() throws {
        for issuer in ["http://127.0.0.1:8080", "http://[::1]:8080/realm"] {
            #expect(
                complaints("[session.w]\nkind = \"oidc\"\nclient_id = \"c\"\nissuer = \"\(issuer)\"\n") == []
            )
        }
    }

    @Test func `all problems are reported, in the order of their lines`() {
        let text = """
            [session.b]
            kind = "oidc"
            scopes = 1
            [agent]
            get_timeout = "soon"
            nonsense = true
            [session.a]
            kind = "cognito"
            region = "eu-west-1"
            user_pool_id = "us-east-1_x"
            """
        #expect(
            complaints(text) == [
                "config.toml:1: session.b.issuer: required: URL of the authorization server",
                "config.toml:3: session.b.scopes: must be an array of strings, not an integer",
                "config.toml:5: agent.get_timeout: \"soon\" is not a duration; write a number and a unit (s, m, h, d), such as \"90s\"",
                "config.toml:6: agent.nonsense: unknown key",
                "config.toml:7: session.a.client_id: required: client ID registered at the authorization server",
                "config.toml:10: session.a.user_pool_id: must begin with the region, eu-west-1_",
            ]
        )
    }

    @Test func `only one way to name the client secret may be given`() {
        #expect(
            complaints(session("client_secret = \"a\"\nclient_secret_file = \"/b\"\n")) == [
                "config.toml:6: session.work.client_secret_file: mutually exclusive: client_secret, client_secret_file"
            ]
        )
    }

    @Test(arguments: [
        ("path = \"s\"\nsessions = [\"work\"]", "6: socket.path: must be an absolute path or begin with ~/"),
        ("sessions = [\"work\"]", "5: socket.path: required: path of the socket"),
        (
            "path = \"/\(String(repeating: "x", count: 107))\"\nsessions = [\"work\"]",
            "6: socket.path: is longer than 107 bytes"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nscopes = [\"mail calendar\"]",
            "8: socket.scopes: \"mail calendar\" is not a valid scope: must be one word of printable ASCII"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\naudiences = [\"a b\"]",
            "8: socket.audiences: \"a b\" is not a valid audience: must be one word of printable ASCII"
        ),
        ("path = \"/s\"", "5: socket.sessions: required: at least one session"),
        (
            "path = \"/s\"\nsessions = []",
            "7: socket.sessions: required: at least one session"
        ),
        (
            "path = \"/s\"\nsessions = [\"wor\"]",
            "7: socket.sessions: no session named \"wor\"; did you mean work?"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nmode = \"0644\"",
            "8: socket.mode: must be \"0600\", \"0660\", \"0606\" or \"0666\", not \"0644\""
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nmode = \"0660\"",
            "8: socket.mode: lets other users connect, but users allows none of them"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nusers = [\"65534\"]",
            "8: socket.users: has no effect: mode gives other users no access"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\ngroup = \"0\"",
            "8: socket.group: has no effect: mode gives the group no access"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nmode = \"0660\"\nusers = [\"no such user\"]",
            "9: socket.users: no user named \"no such user\""
        ),
        ("path = \"/s\"\nsessions = [\"work\"]\nport = 1", "8: socket.port: unknown key"),
        (
            "path = \"/s\"\nsessions = [\"work\"]\n[[socket]]\npath = \"/s\"\nsessions = [\"work\"]",
            "9: socket.path: is already used by another [[socket]]"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nanswer = \"bare\"",
            "8: socket.answer: \"bare\" is not one of http, token"
        ),
        (
            "path = \"/s\"\nsessions = [\"work\"]\nanswer = \"token\"\nscopes = [\"mail\"]",
            "9: socket.scopes: cannot be combined with answer = \"token\""
        ),
        (
            "path = \"/s\"\nsessions = [\"work\", \"work\"]\nanswer = \"token\"",
            "7: socket.sessions: must name only one session with answer = \"token\""
        ),
    ])
    func `a bad key of a socket is explained`(keys: String, message: String) {
        let found = complaints(session("") + "[[socket]]\n" + keys + "\n")
        #expect(found == ["config.toml:\(message)"])
    }

    @Test(.holds("252")) func `a bare token is none that needs a proof, and no credentials of a role`() {
        let socket = "[[socket]]\npath = \"/s\"\nsessions = [\"work\"]\nanswer = \"token\"\n"
        #expect(complaints(session("") + socket) == [])
        #expect(
            complaints(session("dpop = true\n") + socket) == [
                "config.toml:9: socket.answer: cannot be \"token\" for session \"work\": DPoP tokens require a proof for each request"
            ]
        )
        let role =
            "[session.work]\nkind = \"aws_role\"\nrole_arn = \"arn:aws:iam::123456789012:role/r\"\nregion = \"eu-west-1\"\nfrom = \"id\"\n"
        let source = "[session.id]\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n"
        #expect(
            complaints(role + source + socket).contains {
                $0.contains("it has role credentials and no token")
            }
        )
    }

    @Test(arguments: ["socket = 1", "socket = [1]"])
    func `sockets are an array of tables`(text: String) {
        #expect(
            complaints(text).first?.contains("tables, each beginning with [[socket]], not an integer") == true
        )
    }
}
