// SPDX-License-Identifier: MIT

/// Where a key was first written, with the keys below it: the shape of a TOML text without its values.
final class KeyPlace {
    let position: TOMLPosition
    /// The keys of the table this key holds.
    private(set) var members: [String: KeyPlace] = [:]
    /// The elements, when this key names an array of tables.
    private(set) var elements: [KeyPlace] = []

    init(_ position: TOMLPosition) {
        self.position = position
    }

    /// The place of `key` below this one; `position` when it was not written before.
    func member(_ key: String, at position: TOMLPosition) -> KeyPlace {
        if let known = members[key] { return known }
        let new = KeyPlace(position)
        members[key] = new
        return new
    }

    /// The place of one more `[[table]]`.
    func beginElement(at position: TOMLPosition) -> KeyPlace {
        let new = KeyPlace(position)
        elements.append(new)
        return new
    }

    /// The place of the element `index`; `nil` in an array that is written as a value.
    func element(_ index: Int) -> KeyPlace? {
        elements.indices.contains(index) ? elements[index] : nil
    }
}
