// SPDX-License-Identifier: MIT

import DemoIssuer

extension SigningKey {
    private static let drawnOnce: Result<SigningKey, any Error> = Result { try SigningKey(.rs256) }

    /// The RSA key of all servers of a test run for which it need not be another one: drawing one takes a third of a second.
    package static func shared() throws -> SigningKey { try drawnOnce.get() }
}
