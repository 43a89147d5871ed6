// SPDX-License-Identifier: MIT

import ServerCertificates
import ServerSettings

extension EndpointURL {
    /// The identity that the server must prove, or `nil` if it does not use TLS.
    var serverIdentity: ServerIdentity? { isTLS ? ServerIdentity(host: host) : nil }
}
