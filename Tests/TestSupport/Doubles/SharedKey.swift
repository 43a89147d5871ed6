// SPDX-License-Identifier: MIT

import DemoIssuer

extension SigningKey {
    private static let drawnOnce: Result<SigningKey, any Error> = Result { try SigningKey(.rs256) }

    /// Returns one RSA key for all servers in a test run that do not need their own.
    ///
    /// Creating a key takes a third of a second.
    package static func shared() throws -> SigningKey { try drawnOnce.get() }
}
