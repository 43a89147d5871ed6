// SPDX-License-Identifier: MIT

import TokenCore

/// An action that requires the user's confirmation.
enum ConfirmedAction: String, Hashable {
    /// A token, including one from a refresh.
    case token
    case login
    case logout

    /// The words between the name of the program and that of the session.
    var phrase: String {
        switch self {
        case .token: "asks for a token of"
        case .login: "wants to log in to"
        case .logout: "wants to log out of"
        }
    }
}

/// The identity of a confirmation prompt: all requests of one process for one thing share it while it is
/// open.
struct ConfirmationKey: Hashable {
    var action: ConfirmedAction
    var process: Int32
    /// The process's start time, which distinguishes it from a later process with the same number.
    var startedAt: Instant?
    /// The executable image, which distinguishes the program in the prompt from one that the process has
    /// executed since.
    var image: String?
    var session: SessionName
    var variant: TokenVariant
    var restriction: String?

    init(
        of connection: Connection,
        _ session: SessionName,
        _ action: ConfirmedAction,
        _ variant: TokenVariant
    ) {
        self.action = action
        process = connection.caller.peer.processID
        startedAt = connection.caller.witness.facts?.startedAt
        image = connection.caller.witness.facts?.image
        self.session = session
        self.variant = variant
        restriction = connection.caller.restriction?.name
    }
}
