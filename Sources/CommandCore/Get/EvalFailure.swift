// SPDX-License-Identifier: MIT

/// What `eval "$(tokenctl get NAME --format env)"` is given when there is no token.
///
/// `eval` of nothing succeeds and leaves the variable as it was: a script would go on with a stale token.
enum EvalFailure {
    /// Prints commands that unset the variable and make `eval` end with `status`, in any POSIX shell.
    static func print(_ status: Int32) {
        try? StandardOutput.write(Array("unset BEARER_TOKEN; (exit \(status))\n".utf8))
    }
}
