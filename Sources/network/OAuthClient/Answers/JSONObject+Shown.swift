// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension JSONObject {
    /// Returns those of the members `names` that are a text, a number or a Boolean, as text that can be shown.
    func shown(_ names: [String]) -> [String: String] {
        names.reduce(into: [:]) { shown, name in
            guard let value = self[name],
                let text = value.string ?? value.literal ?? value.bool.map({ "\($0)" })
            else { return }
            shown[name] = ServerText.cleaned(text, limit: 255)
        }
    }
}
