// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// Many `tokenctl curl`, all refused with the same token at the same moment.
struct CurlHerd {
    var size: Int
    var agent: AgentUnderTest
    var issuer: DemoIssuer
    var session: String
    /// The resource, whose first answer to each is held until all have asked.
    var path: String
    var options: [String] = []

    /// Runs all of them to their end and returns how often each result came.
    func run() async throws -> [String: Int] {
        issuer.queue(Disturbance(isHeld: true), for: path, times: size)
        let arguments = ["curl", session, "--", "-s", "-o", "/dev/null", "-w", "%{http_code}"] + options
        let clients = try (0..<size).map { _ in
            try agent.startTokenctl(arguments + [issuer.issuer + path])
        }
        try #require(await issuer.hasReceived(size, to: path, within: .seconds(180)))
        let haveEnded = try await Polling.until(within: .seconds(180)) {
            // A request is counted a moment before it is held.
            issuer.release()
            return clients.allSatisfy { $0.exitStatus != nil }
        }
        try #require(haveEnded)
        var results: [String: Int] = [:]
        for client in clients {
            let result = try await client.finish()
            // On a busy machine they say that they wait.
            let complaints = result.standardError.split(separator: "\n").filter {
                !$0.contains("waiting for a ")
            }
            let text = "\(result.status) \(result.standardOutput)\(complaints.joined())"
            results[text, default: 0] += 1
        }
        return results
    }
}
