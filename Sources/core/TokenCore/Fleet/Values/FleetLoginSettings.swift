// SPDX-License-Identifier: MIT

/// The settings with which a record's tokens were obtained, and which must equal a host's own before it uses
/// the record.
package struct FleetLoginSettings: Sendable {
    /// The `kind` of the session.
    package var kind: String
    package var issuer: String
    package var client: String
    /// The endpoint to which refresh tokens are sent.
    package var endpoint: String

    package init(kind: String, issuer: String, client: String, endpoint: String) {
        self.kind = kind
        self.issuer = issuer
        self.client = client
        self.endpoint = endpoint
    }

    /// The four values in the order in which they are stored.
    package var texts: [String] { [kind, issuer, client, endpoint] }

    /// Returns the configuration keys whose values differ.
    ///
    /// Empty if there are none.
    package func differences(from other: FleetLoginSettings) -> [String] {
        zip(["kind", "issuer", "client_id", "token_endpoint"], zip(texts, other.texts))
            .filter { !$0.1.0.utf8.elementsEqual($0.1.1.utf8) }
            .map(\.0)
    }
}

// Compare bytes: strings that Unicode calls equivalent are different names.
extension FleetLoginSettings: Equatable {
    package static func == (left: FleetLoginSettings, right: FleetLoginSettings) -> Bool {
        left.differences(from: right).isEmpty
    }
}
