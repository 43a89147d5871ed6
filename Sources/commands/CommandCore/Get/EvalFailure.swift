// SPDX-License-Identifier: MIT

/// The output for `eval "$(tokenctl get NAME --format env)"` when there is no token.
///
/// `eval` of empty output succeeds and leaves the variable unchanged, so a script would continue with a stale
/// token.
enum EvalFailure {
    /// Prints commands that unset the variable and make `eval` end with `status`, in any POSIX shell.
    static func print(_ status: Int32) {
        try? StandardOutput.write(Array("unset BEARER_TOKEN; (exit \(status))\n".utf8))
    }
}
