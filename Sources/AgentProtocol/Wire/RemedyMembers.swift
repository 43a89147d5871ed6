// SPDX-License-Identifier: MIT

import Text

/// Members that include a ``Remedy``: its text and its kind.
package protocol RemedyMembers: WireMemberTable {
    var remedyText: WireMember<String> { get }
    var remedyKind: WireMember<Remedy.Kind> { get }
}

extension Remedy.Kind: WireValue {}

extension WireMessage where Members: RemedyMembers {
    /// The advice, or `nil` if there is none.
    ///
    /// Advice of an unknown kind counts as a command.
    package var remedy: Remedy? {
        get { self.remedyText.map { Remedy(self.remedyKind ?? .run, $0) } }
        set {
            self.remedyText = newValue?.text
            self.remedyKind = newValue?.kind
        }
    }
}
