// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import TestSupport

/// An agent whose tokens are bound to a key.
///
/// Each response with a proof has a new token and a new proof.
struct KeyBoundAgent {
    private let agent: ScriptedAgent

    /// Creates an agent that responds with `action` to every report of a rejected token.
    ///
    /// `hosts` are the hosts of its session, and `base` is an address that it keeps.
    init(action: String = "retry", type: String = "DPoP", hosts: [String] = [], base: String = "") throws {
        let names = hosts.map { "\"\($0)\"" }.joined(separator: ",")
        let about = #"{"session":"work","hosts":[\#(names)],"base_addresses":{"base":"\#(base)"}}"#
        let proofs = Counter()
        agent = try ScriptedAgent { request in
            if request.hasPrefix("POST /v1/sessions/work/report ") {
                return .answer(#"{"action":"\#(action)","access_token":"REPORTED","token_type":"\#(type)"}"#)
            }
            guard request.contains("/token") else { return .answer(about) }
            let start = #"{"session":"work","token_type":"\#(type)","expires_at":1"#
            guard request.contains("dpop_url=") else {
                return .answer(start + #","access_token":"UNPROVEN"}"#)
            }
            let number = proofs.next()
            return .answer(start + #","access_token":"TOKEN\#(number)","dpop_proof":"pro.of.\#(number)"}"#)
        }
    }

    /// The requests so far, each as method and target.
    var requests: [String] {
        agent.requests.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    }

    /// The bodies of the reports.
    var reports: [String] {
        agent.requests.filter { $0.hasPrefix("POST ") }.compactMap { $0.split(separator: "\r\n").last }
            .map(String.init)
    }

    /// The requests for which a proof was requested, each as method and URL.
    var proofs: [String] {
        requests.compactMap { request in
            let target = String(request.drop { $0 != "/" })
            let query = IssuerRequest(method: "GET", target: target).query
            guard let url = query["dpop_url"], let method = query["dpop_method"] else { return nil }
            return "\(method) \(url)" + (query["dpop_nonce"].map { " \($0)" } ?? "")
        }
    }

    /// Runs `tokenctl curl work -- ARGUMENTS`, with the programs of `path`.
    func curl(
        _ arguments: [String],
        options: [String] = [],
        path: String = TestEnvironment.searchPath,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ProgramResult {
        try await Program.run(
            [BuiltPrograms.client, "curl", "work"] + options + ["--"] + arguments,
            environment: variables(path).merging(environment) { $1 },
            input: input
        )
    }

    /// Runs a script of bash in which `curl` is `tokenctl curl work --`, in `directory`.
    func shell(_ script: String, in directory: String? = nil) async throws -> ProgramResult {
        try await Program.run(
            ["/bin/bash", "-c", "curl() { '\(BuiltPrograms.client)' curl work -- \"$@\"; }; \(script)"],
            environment: variables(TestEnvironment.searchPath),
            directory: directory
        )
    }

    private func variables(_ path: String) -> [String: String] {
        ["TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "PATH": path]
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }
}
