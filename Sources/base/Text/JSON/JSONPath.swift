// SPDX-License-Identifier: MIT

/// A path from a JSON text's outermost value to a value inside it.
package struct JSONPath: Hashable, Sendable {
    /// The maximum number of steps: no legitimate response is nested deeper.
    package static let longest = 8

    /// The steps, outermost first, at least one: names of members, or numbers from 0 on for elements of
    /// arrays.
    package let steps: [ByteText]

    /// Creates a path, or returns `nil` if there are no steps or too many, or one is empty or longer than a
    /// member name.
    package init?(_ steps: [String]) {
        guard (1...JSONPath.longest).contains(steps.count),
            steps.allSatisfy({ (1...JSONObject.maximumNameLength).contains($0.utf8.count) })
        else { return nil }
        self.steps = steps.map(\.bytewise)
    }

    /// Parses `data.accessToken`; a name that contains a dot cannot be written in this form.
    package init?(dotted text: String) {
        let steps = text.bytewise.split(on: ".", maxSplits: JSONPath.longest, omittingEmpty: false)
        self.init(steps.map(String.init))
    }
}

extension JSONPath: CustomStringConvertible {
    package var description: String { steps.map(\.text).joined(separator: ".") }
}

extension JSONValue {
    /// Returns the value one step into this one, or `nil` if there is none.
    fileprivate func value(at step: ByteText) -> JSONValue? {
        if let object { return object[step.text] }
        guard let array, step.utf8.allSatisfy(\.isASCIIDigit), let index = Int(step.text),
            array.indices.contains(index)
        else { return nil }
        return array[index]
    }
}

extension JSONObject {
    /// The value at `place`, or `nil` if there is none.
    package subscript(place: JSONPath) -> JSONValue? {
        place.steps.reduce(JSONValue?.some(.object(self))) { value, step in value?.value(at: step) }
    }

    /// Returns this object and those nested in it, up to `depth` levels deep.
    package func objects(upTo depth: Int) -> [JSONObject] {
        guard depth > 0 else { return [self] }
        return [self] + members.compactMap(\.value.object).flatMap { $0.objects(upTo: depth - 1) }
    }

    /// Returns the objects along the path `place`, innermost first and this one last.
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
