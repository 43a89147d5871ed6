// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Remedies for a command line, each followed by the command line that it asks for.
    @Suite struct CommandLineRemedyTests {
        private static let logIn =
            "echo alice-password | tokenctl login work --username alice --password-stdin"

        private static let ofUsage = [
            CorrectedLine(
                line: "tokenctl xyzzy",
                remedy: "See: tokenctl --help",
                followed: "tokenctl --help | grep -q '  status ' && tokenctl status"
            ),
            CorrectedLine(
                line: "tokenctl get work --formt json",
                remedy: "See: tokenctl get --help",
                followed: "tokenctl get --help | grep -q -e '--format' && tokenctl get work --format json"
            ),
            CorrectedLine(
                line: "tokenctl claims",
                remedy: "Run: tokenctl claims NAME",
                followed: "$(echo 'REMEDY' | sed s/NAME/work/)"
            ),
            CorrectedLine(
                line: "tokenctl terraform forget app.example.com </dev/null",
                remedy: "Run: tokenctl logout NAME",
                followed: "$(echo 'REMEDY' | sed s/NAME/work/)"
            ),
            CorrectedLine(
                line: "tokenctl terraform store app.example.com </dev/null",
                remedy: "Run: tokenctl login NAME",
                followed: "\(logIn) && tokenctl get work"
            ),
            CorrectedLine(
                line: "echo '{}' | tokenctl docker-credential store",
                remedy: "Run: tokenctl login NAME",
                followed: "\(logIn) && tokenctl get work"
            ),
            CorrectedLine(
                line: """
                    KUBERNETES_EXEC_INFO='{"apiVersion":"client.authentication.k8s.io/v1alpha1","kind":"ExecCredential"}' \
                    tokenctl kube-credential work
                    """,
                remedy: "Set: apiVersion to client.authentication.k8s.io/v1 in the kubeconfig",
                followed: """
                    KUBERNETES_EXEC_INFO='{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"}' \
                    tokenctl kube-credential work
                    """
            ),
            CorrectedLine(
                line: "tokenctl mcp headers mcp.example.com/mcp",
                remedy: "Set: a URL with its scheme, such as https://mcp.example.com/mcp",
                followed: "tokenctl mcp headers ADDRESS"
            ),
            CorrectedLine(
                line: "tokenctl mcp headers 'ADDRESS#top'",
                remedy: "Set: a URL without user name and fragment, with escaped characters (%XX)",
                followed: "tokenctl mcp headers ADDRESS"
            ),
            CorrectedLine(
                line: "tokenctl login 127.0.0.1/resource",
                remedy: "Set: a URL with its scheme, such as https://mcp.example.com/mcp",
                followed: "tokenctl login ADDRESS"
            ),
            CorrectedLine(
                line: "tokenctl login https://me@",
                remedy: "Set: a URL such as https://mcp.example.com/mcp, without user name or password",
                followed: "tokenctl login ADDRESS"
            ),
            CorrectedLine(
                line: "tokenagent-mcp",
                remedy: "Run: tokenctl mcp connect URL",
                followed: "$(echo 'REMEDY' | sed s,URL,ADDRESS,) </dev/null"
            ),
            CorrectedLine(
                line: "tokenctl ssh --session work -N -p 1 127.0.0.1 true",
                remedy: "Retry: without -N",
                followed: "tokenctl ssh --session work -p 1 127.0.0.1 true",
                then: 255
            ),
            CorrectedLine(
                line: "tokenctl ssh --session work -Z -p 1 127.0.0.1 true",
                remedy: "Retry: without -Z",
                followed: "tokenctl ssh --session work -p 1 127.0.0.1 true",
                then: 255
            ),
            CorrectedLine(
                line: "tokenctl kube-credential",
                remedy: "Set: --session",
                followed: "tokenctl kube-credential --session work"
            ),
        ]

        /// Leads to a port where nothing listens.
        private static let resolved = "--connect-to ::127.0.0.1:9"

        private static let ofCurl = [
            CorrectedLine(
                line: "tokenctl curl work -- -s",
                remedy: "Set: a URL after --",
                followed: "tokenctl curl work -- -sf ISSUER/resource"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf 127.0.0.1/resource",
                remedy: "Set: the complete URL, with https:// and a literal host",
                followed: "tokenctl curl work -- -sf ISSUER/resource"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf ISSUER/resource http://127.0.0.1:9/",
                remedy: "Retry: with one tokenctl curl for each server",
                followed: "tokenctl curl work -- -sf ISSUER/resource"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf http://api.example.com/",
                remedy: "Set: https in the URL",
                followed: "tokenctl curl work -- -s \(resolved) https://api.example.com/",
                then: 7
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf -k https://api.example.com/",
                remedy: "Set: --cacert to the server's certificate",
                followed:
                    "tokenctl curl work -- -s \(resolved) --cacert ca.pem https://api.example.com/",
                then: 7
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf --loc ISSUER/resource",
                remedy: "Set: the full name of an option in curl(1)",
                followed: "tokenctl curl work -- -sf --location ISSUER/resource"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf -H 'Authorization: Bearer x' ISSUER/resource",
                remedy: "Retry: without -H authorization",
                followed: "tokenctl curl work -- -sf ISSUER/resource"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf -i -D - ISSUER/resource --next -s ISSUER/resource",
                remedy: "Retry: with one tokenctl curl for each request",
                followed:
                    "tokenctl curl work -- -sf -i -D - ISSUER/resource && tokenctl curl work -- -sf ISSUER/resource"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf -D a ISSUER/resource --next -s -D b ISSUER/resource",
                remedy: "Retry: with one tokenctl curl for each request",
                followed:
                    "tokenctl curl work -- -sf -D a ISSUER/resource && tokenctl curl work -- -sf -D b ISSUER/resource"
            ),
        ]

        private static let ofProofs = [
            CorrectedLine(
                line: "tokenctl get work --format bearer",
                remedy: "Set: --dpop-url URL and --format header",
                followed: "tokenctl get work --dpop-url ISSUER/resource --format header"
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -sf ISSUER/resource ISSUER/resource?x",
                remedy: "Run: tokenctl get work --dpop-url URL --format curl",
                followed: """
                    for url in ISSUER/resource ISSUER/resource?x; do
                        $(echo 'REMEDY' | sed s,URL,$url,) | curl -sf -K - $url || exit 1
                    done
                    """
            ),
            CorrectedLine(
                line: "tokenctl curl work -- -s -T config/tokenagent/config.toml ISSUER/",
                remedy: "Set: the URL with the file name at its end",
                followed:
                    "tokenctl curl work -- -s -o sent -T config/tokenagent/config.toml ISSUER/config.toml"
            ),
        ]

        private static let proxy =
            "[[proxy]]\\nname = \"api\"\\nlisten = \"127.0.0.1:0\"\\nupstream = \"ISSUER\"\\nsession = \"work\"\\n"

        private static func adding(_ table: String) -> String {
            "printf '\(table)' >>config/tokenagent/config.toml"
        }

        private static func endpoint(_ name: String, _ kind: String, session: String) -> String {
            "[[endpoint]]\\nname = \"\(name)\"\\nkind = \"\(kind)\"\\nlisten = \"127.0.0.1:0\"\\nsession = \"\(session)\"\\n"
                + (kind == "azure-msi" ? "audiences = [\"https://vault.example\"]\\n" : "")
        }

        private static let ofListeners = [
            CorrectedLine(
                line: "tokenctl proxy work -- true",
                remedy: "Set: --upstream to serve the session work without a table",
                followed: "tokenctl proxy work --upstream ISSUER -- true"
            ),
            CorrectedLine(
                line: "tokenctl proxy",
                remedy: "See: tokenagent.conf(5)",
                followed: "\(adding(proxy)) && tokenctl proxy api -- true"
            ),
            CorrectedLine(
                line: "tokenctl exec --endpoint api -- true",
                remedy: "Run: tokenctl proxy api -- COMMAND",
                followed: "$(echo 'REMEDY' | sed s/COMMAND/true/)"
            ),
            CorrectedLine(
                line: "tokenctl exec --endpoint cloud -- true",
                remedy: "Set: an [[endpoint]] with this name in the configuration",
                followed: """
                    \(adding(endpoint("cloud", "azure-msi", session: "work"))) &&
                    tokenctl exec --endpoint cloud -- true
                    """
            ),
            CorrectedLine(
                line: "tokenctl proxy deploy --upstream ISSUER -- true",
                remedy: "Set: an [[endpoint]] with kind = \"aws-container\"",
                followed: """
                    \(adding(endpoint("role", "aws-container", session: "deploy"))) &&
                    tokenctl exec --endpoint role -- true
                    """
            ),
        ]

        /// The programs of an installation, in a directory that has only some of them.
        private static let ofInstallation = [
            CorrectedLine(
                line: "mkdir bin; cp PROGRAMS/tokenctl bin; bin/tokenctl list",
                remedy:
                    "Retry: after installing tokenctl-commands next to tokenctl or in ../libexec/tokenagent",
                followed: "cp PROGRAMS/tokenctl-commands bin && bin/tokenctl list"
            ),
            CorrectedLine(
                line: "bin/tokenctl mcp connect http://127.0.0.1:9/",
                remedy: "Retry: after installing tokenagent-proxy",
                followed:
                    "cp PROGRAMS/tokenagent-mcp bin && bin/tokenctl mcp connect http://127.0.0.1:9/ </dev/null"
            ),
            CorrectedLine(
                line: "bin/tokenctl proxy work --upstream ISSUER -- true",
                remedy: "Retry: after installing tokenagent-proxy",
                followed:
                    "cp PROGRAMS/tokenagent-proxy bin && bin/tokenctl proxy work --upstream ISSUER -- true"
            ),
            CorrectedLine(
                line:
                    "tokenctl shutdown; export TOKENAGENT_AUTOSTART=1; PATH=/usr/bin:/bin bin/tokenctl list",
                remedy: "Set: PATH to include the directory of tokenagent",
                followed: "TOKENAGENT_AUTOSTART=1 bin/tokenctl list"
            ),
            CorrectedLine(
                line: "tokenctl shutdown; export TOKENAGENT_AUTOSTART=1; ulimit -n 12; tokenctl list",
                remedy: "Run: tokenagent --foreground",
                followed: "REMEDY 2>log & until tokenctl list; do sleep 0.05; done; tokenctl shutdown"
            ),
            CorrectedLine(
                line: "TOKENAGENT_CONFIG=$PWD/none TOKENAGENT_AUTOSTART=1 tokenctl list",
                remedy: "Set: TOKENAGENT_CONFIG to an existing file",
                followed:
                    "TOKENAGENT_CONFIG=$PWD/config/tokenagent/config.toml TOKENAGENT_AUTOSTART=1 tokenctl list"
            ),
            CorrectedLine(
                line: "tokenctl shutdown; touch run/tokenagent/agent.sock; tokenctl doctor",
                remedy: "Run: rm ",
                followed: "REMEDY; tokenctl doctor; TOKENAGENT_AUTOSTART=1 tokenctl list"
            ),
        ]

        @Test(.holds("190")) func `a command line is corrected as it is said`() async throws {
            let bridge = try await BridgeScene()
            try await bridge.scene.follow(Self.ofUsage, ["ADDRESS": bridge.server.address])
        }

        @Test func `curl's arguments are corrected as it is said`() async throws {
            try await Scene.loggedIn().follow(Self.ofCurl)
        }

        @Test func `a proof of possession is asked for as it is said`() async throws {
            try await Scene.loggedIn({ $0.dpop = .required }, session: "dpop = true").follow(Self.ofProofs)
        }

        @Test func `a table is written as it is said`() async throws {
            let role = """

                [session.deploy]
                kind = "aws_role"
                role_arn = "\(STSDouble.roleARN)"
                sts_endpoint = "http://127.0.0.1:9/"
                from = "work"

                """
            try await Scene.loggedIn(more: role).follow(Self.ofListeners)
        }

        @Test func `what is missing for a program is installed as it is said`() async throws {
            try await Scene.loggedIn().follow(Self.ofInstallation, ["PROGRAMS": BuiltPrograms.directory])
        }

        @Test func `the methods that open a store are changed with its key, as it is said`() async throws {
            let scene = try await Scene.loggedIn()
            let key = scene.agent.home.path("key")
            #expect(try await scene.paste("umask 077; head -c 40 /dev/urandom | base64 >key").status == 0)
            try scene.agent.configure(unlockCommand: ["cat", key])
            let slots =
                "tokenctl vault slots add --type command -- cat \(key) && tokenctl vault slots remove 0"
            let made = try await scene.paste("tokenctl reload && \(slots)")
            try #require(made.status == 0, "\(made)")
            try await scene.follow([
                CorrectedLine(
                    line: "tokenctl vault rekey",
                    remedy: "Set: --key-file or hooks.confirm",
                    followed: "tokenctl vault rekey --key-file key && tokenctl get work"
                )
            ])
        }

        @Test func `a clock is set as it is said`() async throws {
            let shim = try await WallClockShim()
            // An agent would tell the time of the servers.
            let scene = try await Scene()
            try shim.set(-3 * 365 * 86_400)
            let early = try await scene.agent.tokenctl(["doctor"], extraEnvironment: shim.environment)
            #expect(PrintedRemedy(early, holding: "the system clock")?.label == "set", "\(early)")
            try shim.set(0)
            let after = try await scene.agent.tokenctl(["doctor"], extraEnvironment: shim.environment)
            #expect(PrintedRemedy(after, holding: "the system clock") == nil, "\(after)")
        }

        @Test func `an agent that is slow to stop has stopped later, as it is said`() async throws {
            let shim = try await WallClockShim()
            let scene = try await Scene.loggedIn()
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(try await scene.waiters(1))
            let shutdown = try scene.agent.startTokenctl(["shutdown"], extraEnvironment: shim.environment)
            #expect(try await Polling.until { !File.exists(scene.agent.socketPath) })
            // The clock moves on until the command has read it twice.
            var seconds = 0
            _ = try await Polling.until {
                seconds += 60
                try shim.set(0, sinceBoot: seconds)
                return shutdown.exitStatus != nil
            }
            let early = try await shutdown.finish()
            #expect(PrintedRemedy(early, holding: "in a minute")?.label == "retry", "\(early)")
            scene.issuer.release()
            _ = try await refresh.finish()
            #expect(try await Polling.until { scene.agent.agent?.exitStatus == 0 })
            let after = try await scene.agent.tokenctl("shutdown")
            #expect(after.status == 3, "\(after)")
        }
    }
}
