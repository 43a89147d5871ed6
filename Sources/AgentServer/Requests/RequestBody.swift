// SPDX-License-Identifier: MIT

import Text

/// The JSON object of a request, every member of which must be one the route knows.
struct RequestBody {
    private let members: JSONObject

    /// Reads `bytes`; an empty body is an empty object.
    init(_ bytes: [UInt8], members known: Set<ByteText>) throws(RequestFailure) {
        guard !bytes.isEmpty else {
            members = JSONObject()
            return
        }
        guard let object = (try? JSONValue(parsing: bytes))?.object else {
            throw RequestFailure(code: .badRequest, message: "The body is not one JSON object.")
        }
        guard object.members.allSatisfy({ known.contains($0.name.bytewise) }) else {
            let names = known.map(\.text).sorted().joined(separator: ", ")
            let message = known.isEmpty ? "This request takes no members." : "The members are: \(names)."
            throw RequestFailure(code: .badRequest, message: message)
        }
        members = object
    }

    /// A string that may be missing or `null`.
    func string(_ name: String) throws(RequestFailure) -> String? {
        guard let value = members[name], value != .null else { return nil }
        guard let text = value.string else { throw mistyped(name, "a string") }
        return text
    }

    func requiredString(_ name: String) throws(RequestFailure) -> String {
        guard let text = try string(name) else { throw mistyped(name, "a string, and required") }
        return text
    }

    func bool(_ name: String) throws(RequestFailure) -> Bool? {
        guard let value = members[name], value != .null else { return nil }
        guard let bool = value.bool else { throw mistyped(name, "true or false") }
        return bool
    }

    func integer(_ name: String) throws(RequestFailure) -> Int64? {
        guard let value = members[name], value != .null else { return nil }
        guard let integer = value.integer else { throw mistyped(name, "a whole number") }
        return integer
    }

    func strings(_ name: String) throws(RequestFailure) -> [String]? {
        guard let value = members[name], value != .null else { return nil }
        guard let texts = value.array?.map(\.string), !texts.contains(nil) else {
            throw mistyped(name, "an array of strings")
        }
        return texts.compactMap(\.self)
    }

    private func mistyped(_ name: String, _ type: String) -> RequestFailure {
        RequestFailure(code: .badRequest, message: "\(name) is \(type).")
    }
}
