// SPDX-License-Identifier: MIT

import TokenCore

/// The reason a login returned no tokens.
enum LoginError: Error {
    case failed(RefreshFailure)
    case cancelled

    /// The outcome of the login.
    ///
    /// A cancelled login reports no failure.
    var outcome: LoginOutcome {
        guard case .failed(let failure) = self, !Task.isCancelled else { return .cancelled }
        return .failed(failure)
    }
}
