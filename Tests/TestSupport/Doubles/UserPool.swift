// SPDX-License-Identifier: MIT

import Text

/// A Cognito user pool of another project, as described by its script.
package struct UserPool: Sendable {
    package let work: TemporaryDirectory
    package let state: JSONObject

    package init(work: TemporaryDirectory, state: JSONObject) {
        self.work = work
        self.state = state
    }

    package func string(_ name: String) -> String { state[name]?.string ?? "" }

    package func client(_ name: String) -> JSONObject {
        state["clients"]?.object?[name]?.object ?? JSONObject()
    }

    package func password(_ user: String) -> String {
        let users = state["users"]?.array?.compactMap(\.object) ?? []
        return users.first { $0["username"]?.string == user }?["password"]?.string ?? ""
    }
}
