// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import OAuthClient

struct ProfileProblemTests {
    @Test func `good profiles have no problem`() throws {
        #expect(ServerProfile.fixed().problems == [])
        var profile = TestIssuer.profile(secret: .file("/etc/secret"))
        profile.resources = ["https://api.example/v1", "urn:example:api"]
        profile.trust = ServerTrust(caFile: "/etc/ca.pem", pins: [Certificates.goodPin])
        #expect(profile.problems == [])
    }

    /// A key, and a profile with something wrong there.
    struct Row: Sendable, CustomTestStringConvertible {
        var key: String
        var profile: ServerProfile

        init(_ key: String, _ spoil: (inout ServerProfile) -> Void) {
            self.key = key
            profile = .fixed()
            spoil(&profile)
        }

        var testDescription: String { key }
    }

    static let rows: [Row] = [
        Row("issuer") { $0.kind = .oidc(issuer: "https://id.example?x") },
        Row("client_id") { $0.clientID = "a\n" },
        Row("scopes") { $0.scopes = ["a b"] },
        Row("scopes") { $0.scopes = [""] },
        Row("scopes") { $0.scopes = ["a\""] },
        Row("resources") { $0.resources = ["api"] },
        Row("resources") { $0.resources = ["https://a/#b"] },
        Row("flow") { $0.flow = .clientCredentials },
        Row("pins") { $0.trust.pins = ["sha256/short"] },
        Row("pins") { $0.trust.pins = ["sha1/AAAA"] },
        Row("prompt") { $0.prompt = "none login" },
        Row("prompt") { $0.prompt = "é" },
    ]

    @Test(arguments: rows)
    func `a bad profile is told by its key`(row: Row) {
        #expect(row.profile.problems.map(\.key) == [row.key])
    }

    @Test func `every problem is told`() {
        var profile = ServerProfile.fixed()
        profile.scopes = ["a b", "c d"]
        profile.trust.pins = ["x"]
        #expect(profile.problems.map(\.key) == ["scopes", "scopes", "pins"])
    }
}

extension ServerProfile {
    /// All there are.
    var problems: [ProfileProblem] { kind.problems + problemsBesideKind }
}
