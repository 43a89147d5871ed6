// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// One `[[file]]`: a file at a fixed place that holds a session's present token, as long as there is one.
package struct TokenFileTarget: Equatable, Sendable {
    /// Absolute; printable.
    package var path: String
    package var session: SessionName
    package var variant: TokenVariant
    /// Whether it is the ID token.
    package var wantsIDToken: Bool
    /// What stands around the token; `nil`: an object with what is known of it.
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

    /// Makes the directory of a file while the agent still can: before it confines itself.
    ///
    /// A failure is reported when the file is to be written.
    /// - Returns: whether a token may stand there: nobody else can write the directory.
    @discardableResult
    package static func prepareDirectory(of path: String) -> Bool {
        (try? ListeningSocket.prepareDirectory(of: path, isOpenToOthers: true)) != nil
    }
}

/// What a token file holds, but for the token itself.
struct TokenFileContent: Sendable {
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

    /// Whether the file's readers would take `token` for what it is.
    func fits(_ token: UnsafeRawBufferPointer) -> Bool { unsafe form.fits(token) }
}
