// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// curl's configuration with the token in it, and the proof where it needs one, in memory that only the child inherits.
///
/// curl may read it once for every request of one command line.
struct CurlOptions: ~Copyable {
    let descriptor: Int32

    /// Writes token and proof, where the headers go, and with `isQuiet` that there is no progress to show.
    ///
    /// - Throws: ``AgentError`` with the code `internal`, in particular if there is no `/proc` for curl to
    ///   read it from.
    init(
        _ token: AgentToken,
        headers: Int32,
        avoidsProxies: Bool,
        isQuiet: Bool
    ) throws(AgentError) {
        descriptor = hardening_memory_file()
        guard descriptor >= 0 else { throw AgentError(.internal, "memfd_create: \(systemMessage(errno))") }
        var text = CurlOptions.lines(presenting: token)
        text += "dump-header = \"/dev/fd/\(headers)\"\n"
        // Without TLS a proxy would see the token: neither an option nor the environment may set one.
        if avoidsProxies { text += "noproxy = \"*\"\n" }
        if isQuiet { text += "no-progress-meter\n" }
        var bytes = Array(text.utf8)
        let error = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: descriptor) }
        bytes.wipe()
        guard error == 0 else { throw AgentError(.internal, "memfd: \(systemMessage(error))") }
        guard unsafe access("/dev/fd/\(descriptor)", R_OK) == 0 else {
            throw AgentError(
                .internal,
                "curl cannot read the token: there is no /dev/fd here",
                remedy: "mount /proc"
            )
        }
    }

    deinit { close(descriptor) }

    /// curl sends the token to the first host only, whatever redirects say.
    ///
    /// It does send a proof on, which others can use neither without the token nor for their own addresses.
    private static func lines(presenting token: AgentToken) -> String {
        let value = quotable(token.value)
        guard token.type.lowercased() != "bearer" else { return "oauth2-bearer = \"\(value)\"\n" }
        let scheme = token.isBoundToKey ? "DPoP" : quotable(token.type)
        let proof = token.proof.map { "header = \"DPoP: \(quotable($0))\"\n" } ?? ""
        return "header = \"Authorization: \(scheme) \(value)\"\n" + proof
    }

    /// With backslashes before what would end a quoted string, and nothing that would end the line.
    private static func quotable(_ text: String) -> String {
        String(
            text.filter { ($0.asciiValue ?? 0) > 0x20 }.flatMap {
                $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0]
            }
        )
    }
}
