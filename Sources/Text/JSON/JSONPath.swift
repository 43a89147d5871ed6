// SPDX-License-Identifier: MIT

/// A way from a JSON text's outermost value to one inside it.
package struct JSONPath: Hashable, Sendable {
    /// Steps of the longest way: no honest answer is nested deeper.
    package static let longest = 8

    /// Names of members, the outermost first, at least one; where a value is an array, a number from 0 on.
    package let steps: [ByteText]

    /// `nil`: there are no steps or too many, or one is empty or longer than a member's name may be.
    package init?(_ steps: [String]) {
        guard (1...JSONPath.longest).contains(steps.count),
            steps.allSatisfy({ (1...JSONObject.longestName).contains($0.utf8.count) })
        else { return nil }
        self.steps = steps.map(\.bytewise)
    }

    /// Reads `data.accessToken`; a name that holds a dot itself cannot be written like this.
    package init?(dotted text: String) {
        let steps = text.bytewise.split(on: ".", maxSplits: JSONPath.longest, omittingEmpty: false)
        self.init(steps.map(String.init))
    }
}

extension JSONPath: CustomStringConvertible {
    package var description: String { steps.map(\.text).joined(separator: ".") }
}

extension JSONValue {
    /// The value one step into this one; `nil`: there is none.
    fileprivate func value(at step: ByteText) -> JSONValue? {
        if let object { return object[step.text] }
        guard let array, step.utf8.allSatisfy(\.isASCIIDigit), let index = Int(step.text),
            array.indices.contains(index)
        else { return nil }
        return array[index]
    }
}

extension JSONObject {
    /// The value at `place`; `nil`: the way there ends before.
    package subscript(place: JSONPath) -> JSONValue? {
        place.steps.reduce(JSONValue?.some(.object(self))) { value, step in value?.value(at: step) }
    }

    /// This object and those in it, `depth` levels deep.
    package func objects(upTo depth: Int) -> [JSONObject] {
        guard depth > 0 else { return [self] }
        return [self] + members.compactMap(\.value.object).flatMap { $0.objects(upTo: depth - 1) }
    }

    /// The objects on the way to `place`, the innermost first and this one last.
    func objects(onTheWayTo place: JSONPath) -> [JSONObject] {
        var objects = [self]
        var value = JSONValue.object(self)
        for step in place.steps {
            guard let next = value.value(at: step) else { break }
            value = next
            if let object = next.object { objects.append(object) }
        }
        return objects.reversed()
    }
}
