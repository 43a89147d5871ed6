// SPDX-License-Identifier: MIT

import Glibc
import NIOSSL

/// The CA certificates that this machine trusts at the moment.
///
/// Two values differ if the file was replaced or changed in between. Objects created from one value are not
/// used with the other, so a CA that is added to the system takes effect at once.
package struct SystemRoots: Hashable, Sendable {
    /// The locations of the system's certificates in distributions, all in one file.
    private static let usualFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/var/lib/ca-certificates/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
    /// The files that the TLS library reads by default, in addition to a directory of single certificates.
    private static let filesOfLibrary = usualFiles.prefix(2)
    /// The environment variable that names another file, as in OpenSSL.
    package static let variable = "SSL_CERT_FILE"

    static var nameInEnvironment: String? {
        unsafe getenv(variable).map { unsafe String(cString: $0) }
    }

    /// The path of the file, or `nil` if there is none.
    package let path: String?
    private let isNamed: Bool
    private let stamp: Stamp?

    private struct Stamp: Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64
    }

    /// Finds the file `name`, which is by default the value of `SSL_CERT_FILE`, otherwise the system's file.
    package init(named name: String? = SystemRoots.nameInEnvironment) {
        if let name, !name.isEmpty {
            (path, isNamed, stamp) = (name, true, SystemRoots.stamp(of: name))
            return
        }
        let found = SystemRoots.usualFiles.lazy.compactMap { file in
            SystemRoots.stamp(of: file).map { (file, $0) }
        }
        .first
        (path, isNamed, stamp) = (found?.0, false, found?.1)
    }

    /// The reason there are no certificates, or `nil` if there is a file.
    package var lack: String? {
        guard stamp == nil else { return nil }
        if isNamed, let path { return "\(SystemRoots.variable): cannot read \(path)" }
        return "no CA certificates found on this machine (such as \(SystemRoots.usualFiles[0]))"
    }

    /// The roots for the TLS library, which are empty without a file.
    package var trustRoots: NIOSSLTrustRoots {
        guard stamp != nil, let path else { return .certificates([]) }
        return SystemRoots.filesOfLibrary.contains(path) && !isNamed ? .default : .file(path)
    }

    private static func stamp(of path: String) -> Stamp? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, unsafe access(path, R_OK) == 0,
            status.st_mode & S_IFMT == S_IFREG,
            status.st_size > 0
        else { return nil }
        return Stamp(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            seconds: Int64(status.st_mtim.tv_sec),
            nanoseconds: Int64(status.st_mtim.tv_nsec)
        )
    }
}
