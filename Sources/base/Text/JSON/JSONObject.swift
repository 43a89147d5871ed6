// SPDX-License-Identifier: MIT

/// The members of a JSON object in the order of the text, with unique names.
package struct JSONObject: Equatable, Sendable {
    package struct Member: Sendable {
        /// The name, of at most ``JSONObject/maximumNameLength`` bytes if it was parsed.
        package var name: String
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The maximum size of a member name in bytes: no legitimate sender needs more, and names are compared
    /// often.
    package static let maximumNameLength = 256

    package private(set) var members: [Member]

    package init() {
        members = []
    }

    /// Creates an object from members whose names are known to be unique.
    init(members: [Member]) {
        self.members = members
    }

    /// The value of the member `name`, or `nil` if there is none; setting `nil` removes the member.
    package subscript(name: String) -> JSONValue? {
        get { members.first { $0.name.bytewise == name.bytewise }?.value }
        set {
            let index = members.firstIndex { $0.name.bytewise == name.bytewise }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }
}

extension JSONObject.Member: Equatable {
    package static func == (left: Self, right: Self) -> Bool {
        left.name.bytewise == right.name.bytewise && left.value == right.value
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object; if a name is repeated, its last value counts.
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}
