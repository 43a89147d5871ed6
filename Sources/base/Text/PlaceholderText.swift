// SPDX-License-Identifier: MIT

/// Text in which `{name}` stands for a value.
package enum PlaceholderText {
    /// Returns `text` with `value` of each name in its place, and the names without a value, which stay as they are.
    package static func filled(
        _ text: String,
        with value: (String) -> String?
    ) -> (text: String, lacking: [String]) {
        let parts = text.bytewise.split(on: "{", omittingEmpty: false)
        var filled = String(parts[0])
        var lacking: [String] = []
        for part in parts.dropFirst() {
            let halves = part.bytewise.split(on: "}", maxSplits: 1, omittingEmpty: false)
            let name = String(halves[0])
            if halves.count == 2, let value = value(name) {
                filled += value + halves[1]
            } else {
                lacking.append(name)
                filled += "{" + part
            }
        }
        return (filled, lacking)
    }
}
