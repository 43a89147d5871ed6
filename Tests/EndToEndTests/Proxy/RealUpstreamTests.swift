// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let script = ProviderScript("upstream.py")
private let isMissing: Comment =
    "needs the script that runs an API behind nginx, and fetches it: set TOKENAGENT_IDP_DIR and TOKENAGENT_TEST_FULL=1"

extension EndToEnd {
    /// An API behind nginx and TLS, neither of which this project wrote.
    @Suite(.enabled(if: script.isAvailable && TestEnvironment.isFull, isMissing), .serialized)
    struct RealUpstreamTests {
        /// A logged-in session, and a proxy between programs and the API.
        private struct Served {
            let scene: Scene
            let url: String
            let work: TemporaryDirectory
            /// The server's data, as the script reports it.
            let state: JSONObject

            /// Runs a line of shell that finds the proxy in `U`, in a directory of its own.
            func lines(_ script: String) async throws -> [String] {
                let result = try await scene.agent.shell(
                    "cd '\(scene.agent.home.path("."))' && U='\(url)' && \(script)",
                    within: .seconds(180)
                )
                return result.standardOutput.split(separator: "\n").map(String.init)
            }

            /// The requests that the API or the other host has recorded.
            func notes(_ member: String) -> [Substring] {
                File.text(state[member]?.string ?? "")?.split(separator: "\n") ?? []
            }
        }

        private static func whileServed(_ body: (Served) async throws -> Void) async throws {
            try await script.whileRunning(["--tls"]) { work, state in
                let api = try #require(state["url"]?.string)
                let authority = try #require(state["ca"]?.string)
                let table = """
                    [[proxy]]
                    name = "api"
                    listen = "127.0.0.1:0"
                    upstream = "\(api)"
                    ca_file = "\(authority)"
                    session = "work"

                    """
                let scene = try await Scene.loggedIn(more: table)
                try await script.run([work.path, "accept-all"])
                let proxy = try scene.agent.startTokenctl(["proxy"])
                defer { proxy.signal(.terminate) }
                let url = try await proxy.outputLine(containing: "api ").dropFirst("api ".count)
                try await body(Served(scene: scene, url: String(url), work: work, state: state))
            }
        }

        @Test(.holds("230")) func `what flows through to a real server, both ways, arrives whole`()
            async throws
        {
            try await Self.whileServed { served in
                let down = try await served.lines(
                    """
                    for q in '' '&length=1'; do
                        curl -s -D head -o body "$U/api/download?bytes=50000000$q"
                        tr -d '\\r' <head | sed -n 's/^[Xx]-[Ss]ha256: //p'
                        sha256sum <body | cut -d' ' -f1
                    done
                    """
                )
                #expect(down.count == 4 && Set(down).count == 1, "\(down)")
                let up = try await served.lines(
                    """
                    head -c 30000000 /dev/zero >zeros
                    curl -s -T zeros -X POST "$U/api/upload?a"; echo
                    curl -s -T - -X POST "$U/api/upload?b" <zeros; echo
                    sha256sum <zeros | cut -d' ' -f1
                    """
                )
                try #require(up.count == 3, "\(up)")
                for line in up.prefix(2) {
                    let told = try #require(try JSONValue(parsing: line.utf8).object)
                    #expect(told["bytes"]?.integer == 30_000_000 && told["sha256"]?.string == up[2])
                }
                let events = try await served.lines("curl -sN \"$U/api/sse?n=5&delay=0.05\"")
                #expect(events.count { $0.hasPrefix("data: ") } == 5, "\(events)")
            }
        }

        @Test(.holds("230")) func `what a real server may answer reaches the client as it is`() async throws {
            try await Self.whileServed { served in
                let authority = served.state["ca"]?.string ?? ""
                let straight = served.state["url"]?.string ?? ""
                // What nginx may read of its own files depends on where they are.
                let own = try await served.lines(
                    """
                    tokenctl get work --format curl >token; A='\(straight)/static/file.bin'
                    curl -s -K token --cacert '\(authority)' -o body -r 0-9 -w '%{http_code}\\n' "$A"
                    curl -sI -K token --cacert '\(authority)' -o head -w '%{http_code} %{size_download}\\n' "$A"
                    """
                )
                try #require(own.count == 2, "\(own)")
                let statuses = try await served.lines(
                    """
                    for p in api/whoami api/gzip 'api/bigheaders?n=60&size=500' api/status/204 api/status/503 \
                        'api/redirect?code=302' api/reset static/file.bin; do
                        curl -s -o body -r 0-9 -w '%{http_code}\\n' "$U/$p"
                    done
                    curl -s -o body "$U/api/truncate"; echo "cut $?"
                    curl -s -o body "$U/api/truncate?length=1"; echo "cut $?"
                    curl -sI -o head -w '%{http_code} %{size_download}\\n' "$U/static/file.bin"
                    """
                )
                let plain = statuses.prefix(8).map { String($0) }
                let expected = ["200", "200", "200", "204", "503", "302", "502", own[0]]
                #expect(plain == expected, "\(statuses)")
                let cut = statuses.dropFirst(8).prefix(2).map { String($0) }
                #expect(cut.allSatisfy { ["cut 18", "cut 56"].contains($0) }, "\(cut)")
                #expect(statuses.last == own[1], "\(statuses)")
                let healed = try await served.lines("curl -s -d body \"$U/api/once401?key=k\"; echo")
                #expect(healed.first?.contains("\"body_bytes\":4") == true, "\(healed)")
                #expect(served.scene.refreshes == 1)
            }
        }

        @Test(.holds("232"))
        func `a token that a real server refuses is replaced, and no other host sees one`() async throws {
            try await Self.whileServed { served in
                let token = try await served.scene.token()
                try await script.run([served.work.path, "refuse", token])
                let healed = try await served.lines(
                    "curl -s -d body \"$U/api/echo\"; echo; curl -s -d body \"$U/api/echo\"; echo"
                )
                #expect(healed == ["body", "body"] && served.scene.refreshes == 1, "\(healed)")
                let authority = served.state["ca"]?.string ?? ""
                let moved = try await served.lines(
                    """
                    for c in 301 302 303 307 308; do
                        curl -sL --cacert '\(authority)' "$U/api/redirect?to=other&code=$c"; echo
                        curl -sL --cacert '\(authority)' -d x "$U/api/redirect?to=other&code=$c"; echo
                    done
                    """
                )
                #expect(moved.count == 10 && moved.allSatisfy { $0.contains("\"authorization\":false") })
                let leaks = served.notes("leaks")
                #expect(leaks.count == 10 && leaks.allSatisfy { $0.contains("\"authorization\": null") })
                let requests = served.notes("requests")
                #expect(requests.allSatisfy { $0.contains("\"authorization_headers\": 1") }, "\(requests)")
            }
        }
    }
}
