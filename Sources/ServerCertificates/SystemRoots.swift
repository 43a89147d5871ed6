// SPDX-License-Identifier: MIT

import Glibc
import NIOSSL

/// The certificates of authorities that this machine trusts, as they are now.
///
/// Two values differ if the file has been replaced or changed meanwhile: what was made of one of them is not used with
/// the other, so an authority that is added to the system counts at once.
package struct SystemRoots: Hashable, Sendable {
    /// Where distributions keep them, all in one file.
    private static let usualFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/var/lib/ca-certificates/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
    /// Those that the TLS library finds by itself, with the directory of single files beside them.
    private static let filesOfLibrary = usualFiles.prefix(2)
    /// The variable that names another file, as in OpenSSL.
    package static let variable = "SSL_CERT_FILE"

    package static var nameInEnvironment: String? {
        unsafe getenv(variable).map { unsafe String(cString: $0) }
    }

    /// The file; `nil`: there is none.
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

    /// The file that `name` names, as `SSL_CERT_FILE` of the environment does, else the usual one.
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

    /// Why there are no certificates; `nil`: there is a file.
    package var lack: String? {
        guard stamp == nil else { return nil }
        if isNamed, let path { return "\(SystemRoots.variable) names \(path), which cannot be read" }
        return "this machine has no certificates of authorities (\(SystemRoots.usualFiles[0]) or the like)"
    }

    /// For the TLS library; without a file there are none.
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
