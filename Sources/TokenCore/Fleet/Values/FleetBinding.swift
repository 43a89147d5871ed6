// SPDX-License-Identifier: MIT

/// What a host's own settings have to say too, or the record is not used there.
package struct FleetBinding: Sendable {
    /// `kind` of the session.
    package var kind: String
    package var issuer: String
    package var client: String
    /// Where refresh tokens are sent.
    package var endpoint: String

    package init(kind: String, issuer: String, client: String, endpoint: String) {
        self.kind = kind
        self.issuer = issuer
        self.client = client
        self.endpoint = endpoint
    }

    /// The four in the order in which they are stored.
    package var texts: [String] { [kind, issuer, client, endpoint] }

    /// What differs, as configuration keys; empty: nothing.
    package func differences(from other: FleetBinding) -> [String] {
        zip(["kind", "issuer", "client_id", "token_endpoint"], zip(texts, other.texts))
            .filter { !$0.1.0.utf8.elementsEqual($0.1.1.utf8) }
            .map(\.0)
    }
}

// As bytes: what Unicode calls equivalent is another name.
extension FleetBinding: Equatable {
    package static func == (left: FleetBinding, right: FleetBinding) -> Bool {
        left.differences(from: right).isEmpty
    }
}
