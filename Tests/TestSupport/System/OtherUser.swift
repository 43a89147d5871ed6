// SPDX-License-Identifier: MIT

/// A Unix user without rights.
///
/// Tests that run as root start programs as this user.
package enum OtherUser {
    package static let number = 65_534

    /// The command prefix that changes the user.
    package static let wrapper = [
        "setpriv", "--reuid", "\(number)", "--regid", "\(number)", "--clear-groups",
    ]

    /// Whether that user can run this package's programs.
    ///
    /// Only root can change the user, and not every checkout is readable by all users.
    package static let canRunPrograms =
        TestUser.isRoot
        && Program.succeeds(
            "\(wrapper.joined(separator: " ")) '\(BuiltPrograms.agent)' --version >/dev/null"
        )
}
