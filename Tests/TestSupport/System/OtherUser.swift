// SPDX-License-Identifier: MIT

/// A user without rights, as whom tests of root start programs.
package enum OtherUser {
    package static let number = 65_534

    /// Stands before the command.
    package static let wrapper = [
        "setpriv", "--reuid", "\(number)", "--regid", "\(number)", "--clear-groups",
    ]

    /// Whether that user can start our programs: only root can become somebody else, and not every checkout is open
    /// to all.
    package static let canRunPrograms =
        TestUser.isRoot
        && Program.succeeds(
            "\(wrapper.joined(separator: " ")) '\(BuiltPrograms.agent)' --version >/dev/null"
        )
}
