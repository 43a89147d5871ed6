// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// A `[[file]]` of the configuration: the path of a file, and the session whose current token it contains.
package struct TokenFileTarget: Equatable, Sendable {
    /// The absolute path, in printable characters.
    package var path: String
    package var session: SessionName
    package var variant: TokenVariant
    /// Whether the file contains the ID token.
    package var wantsIDToken: Bool
    /// The output format, or `nil` for a JSON object with the token's metadata.
    package var form: TokenOutputFormat?

    package init(
        path: String,
        session: SessionName,
        variant: TokenVariant = .primary,
        wantsIDToken: Bool = false,
        form: TokenOutputFormat? = .token
    ) {
        self.path = path
        self.session = session
        self.variant = variant
        self.wantsIDToken = wantsIDToken
        self.form = form
    }

    /// Creates the directory of a file before the agent enters its sandbox, which prevents it.
    ///
    /// An error is reported when the file is written.
    ///
    /// - Returns: Whether the directory is safe for a token, because no one else can write it.
    @discardableResult
    package static func prepareDirectory(of path: String) -> Bool {
        (try? ListeningSocket.prepareDirectory(of: path, isOpenToOthers: true)) != nil
    }
}

/// The content of a token file, without the token itself.
struct TokenFileTemplate: Sendable {
    let before: [UInt8]
    let after: [UInt8]
    private let form: TokenOutputFormat

    init(_ token: AccessToken, for outlet: TokenFileTarget, at moment: Moment) {
        guard let form = outlet.form else {
            let member = outlet.wantsIDToken ? "id_token" : "access_token"
            let life = token.life(isID: outlet.wantsIDToken)
            let end = life.expiresAt.map { moment.wallTime(at: $0).secondsSince1970 }
            let type = JSONValue.string(token.tokenType).text
            let scope = JSONValue.string(token.scope.joined(separator: " ")).text
            before = Array("{\"session\":\"\(outlet.session)\",\"\(member)\":\"".utf8)
            after = Array(
                "\",\"token_type\":\(type)\(end.map { ",\"expires_at\":\($0)" } ?? ""),\"scope\":\(scope)}"
                    .utf8
            )
            self.form = .headersJSON
            return
        }
        let surroundings = form.surroundings(scheme: TokenOutputFormat.scheme(ofType: token.tokenType))
        before = Array(surroundings.before.utf8)
        after = Array(surroundings.after.utf8)
        self.form = form
    }

    /// Returns whether `token` can be represented in the file's format.
    func fits(_ token: UnsafeRawBufferPointer) -> Bool { unsafe form.fits(token) }
}
