// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing

@testable import tokenctl_commands

/// The issuer of a new session is as its own document spells it.
struct IssuerSpellingTests {
    private func offer(_ issuer: String) -> ServerProbeMessage { ServerProbeMessage { $0.issuer = issuer } }

    @Test func `another spelling is adopted, and that is said`() {
        var server = NewSessionServer(issuer: "https://t.eu.auth0.com")
        let words = server.adoptSpelling(of: offer("https://t.eu.auth0.com/"))
        #expect(server.issuer == "https://t.eu.auth0.com/")
        #expect(
            words
                == "Using the issuer's own spelling https://t.eu.auth0.com/ instead of "
                + "https://t.eu.auth0.com"
        )
        #expect(server.adoptSpelling(of: offer("https://t.eu.auth0.com/")) == nil)
    }

    @Test func `a document at an address of its own tells the issuer`() {
        var server = NewSessionServer(metadata: "https://other.example/openid-configuration")
        let words = server.adoptSpelling(of: offer("acme.com"))
        #expect(server.issuer == "acme.com")
        #expect(words == "The metadata at --metadata-url names the issuer acme.com")
    }

    @Test func `the issuer that a resource names stays the resource's matter`() {
        var server = NewSessionServer(resource: "https://api.example")
        #expect(server.adoptSpelling(of: offer("https://id.example")) == nil)
        #expect(server.issuer == nil)
    }
}
