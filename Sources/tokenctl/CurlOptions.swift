// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc

/// curl's configuration with the token in it, in memory that only the child inherits.
///
/// curl may read it once for every request of one command line.
struct CurlOptions: ~Copyable {
    let descriptor: Int32

    /// Writes the token, where the headers go, and with `isQuiet` that there is no progress to show.
    init(_ token: TokenAnswer, headers: Int32, isQuiet: Bool) throws(AgentError) {
        descriptor = hardening_memory_file()
        guard descriptor >= 0 else { throw AgentError(.internal, "memfd_create: \(systemMessage(errno))") }
        let value = CurlOptions.quotable(token.value)
        // curl sends either to the first host only, whatever redirects say.
        let isBearer = token.type.lowercased() == "bearer"
        var text =
            isBearer
            ? "oauth2-bearer = \"\(value)\"\n"
            : "header = \"Authorization: \(CurlOptions.quotable(token.type)) \(value)\"\n"
        text += "dump-header = \"/dev/fd/\(headers)\"\n"
        if isQuiet { text += "no-progress-meter\n" }
        var bytes = Array(text.utf8)
        let error = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: descriptor) }
        bytes.wipe()
        guard error == 0 else { throw AgentError(.internal, "memfd: \(systemMessage(error))") }
    }

    deinit { close(descriptor) }

    /// With backslashes before what would end a quoted string, and nothing that would end the line.
    private static func quotable(_ text: String) -> String {
        String(
            text.filter { ($0.asciiValue ?? 0) > 0x20 }.flatMap {
                $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0]
            }
        )
    }
}
