// SPDX-License-Identifier: MIT

/// What `eval "$(tokenctl get NAME --format env)"` is given when there is no token.
///
/// `eval` of nothing succeeds and leaves the variable of the last time: a script would go on with a stale token.
enum EvalFailure {
    /// Prints what takes the variable away and makes `eval` end with `status`, in any shell of POSIX.
    static func print(_ status: Int32) {
        try? StandardOutput.write(Array("unset BEARER_TOKEN; (exit \(status))\n".utf8))
    }
}
