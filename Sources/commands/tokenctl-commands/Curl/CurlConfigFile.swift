// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// A configuration of curl with the token, and the proof if required, in memory that only the child inherits.
///
/// curl may read it once for every request of one command line.
struct CurlConfigFile: ~Copyable {
    let descriptor: Int32

    /// Writes a configuration with the token, its proof and the target of the headers.
    ///
    /// - Parameters:
    ///   - token: The token, with its proof if it has one.
    ///   - headers: The descriptor to which curl writes the headers.
    ///   - avoidsProxies: Whether proxies are disabled, because they would see the token.
    ///   - isQuiet: Whether curl shows no progress.
    /// - Throws: ``AgentError`` with the code `internal`, for example without `/proc`, through which curl
    ///   reads the configuration.
    init(
        _ token: AgentToken,
        headers: Int32,
        avoidsProxies: Bool,
        isQuiet: Bool
    ) throws(AgentError) {
        descriptor = hardening_memory_file()
        guard descriptor >= 0 else {
            throw AgentError(.internal, "cannot create a file in memory: \(systemMessage(errno))")
        }
        var text = CurlConfigFile.lines(presenting: token)
        text += "dump-header = \"/dev/fd/\(headers)\"\n"
        // Without TLS a proxy would see the token, so neither an option nor the environment may set one.
        if avoidsProxies { text += "noproxy = \"*\"\n" }
        if isQuiet { text += "no-progress-meter\n" }
        var bytes = Array(text.utf8)
        let error = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: descriptor) }
        bytes.wipe()
        guard error == 0 else {
            throw AgentError(.internal, "cannot write to a file in memory: \(systemMessage(error))")
        }
        guard unsafe access("/dev/fd/\(descriptor)", R_OK) == 0 else {
            throw AgentError(
                .internal,
                "curl cannot read the token: /dev/fd not found",
                remedy: .run("mount -t proc proc /proc")
            )
        }
    }

    deinit { close(descriptor) }

    /// Formats the options that send `token` to the server.
    ///
    /// curl sends the token only to the first host, regardless of redirects. It does pass a proof on, but
    /// others cannot use the proof without the token or for their own URLs.
    private static func lines(presenting token: AgentToken) -> String {
        let value = quotable(token.value)
        guard token.type.lowercased() != "bearer" else { return "oauth2-bearer = \"\(value)\"\n" }
        let scheme = token.isBoundToKey ? "DPoP" : quotable(token.type)
        let proof = token.proof.map { "header = \"DPoP: \(quotable($0))\"\n" } ?? ""
        return "header = \"Authorization: \(scheme) \(value)\"\n" + proof
    }

    /// Escapes the characters that would end a quoted string and removes those that would end the line.
    private static func quotable(_ text: String) -> String {
        String(
            text.filter { ($0.asciiValue ?? 0) > 0x20 }.flatMap {
                $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0]
            }
        )
    }
}
