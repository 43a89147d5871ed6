// SPDX-License-Identifier: MIT

import Crypto
import NIOSSL
import Text

extension CertificatePin {
    /// Creates the pin of the key in `certificate`.
    package init(of certificate: NIOSSLCertificate) throws {
        self.init(digest: Array(SHA256.hash(data: try certificate.extractPublicKey().toSPKIBytes())))
    }
}
