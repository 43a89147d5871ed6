// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// A member of an object, or an element of an array, in a JSON file whose other text stays unchanged.
struct JSONItem: SetupChange {
    let file: String
    /// The member of the file's top-level object that contains the item.
    let container: String
    /// The name of the item, or `nil` in an array and to undo an item with any name.
    let name: String?
    let value: JSONValue
    var isElement = false
    /// Whether a comment marks the item as ours, if the program that reads the file allows comments.
    var isMarked = false
    /// Whether the program reads only plain JSON, without comments and trailing commas.
    var isStrict = false
    /// The remedy for an entry of the user's own with this name.
    var conflictRemedy = Remedy.retry("after removing it")
    /// A predicate for values of ours, which undo removes.
    var isOurs: (JSONValue) -> Bool

    init(
        _ file: String,
        in container: String,
        _ name: String?,
        _ value: JSONValue,
        isElement: Bool = false,
        isMarked: Bool = false,
        isStrict: Bool = false,
        isOurs: ((JSONValue) -> Bool)? = nil
    ) {
        self.file = file
        self.container = container
        self.name = name
        self.value = value
        self.isElement = isElement
        self.isMarked = isMarked
        self.isStrict = isStrict
        self.isOurs = isOurs ?? { $0 == value }
    }

    private var item: String {
        (isMarked ? JSONLayout.mark + " " : "") + (name.map { JSONValue.string($0).text + ": " } ?? "")
            + value.text
    }

    var shown: [String] {
        let brackets = isElement ? ["[", "]"] : ["{", "}"]
        return [
            file + ":", "    " + "\(JSONValue.string(container).text): \(brackets[0])\(item)\(brackets[1])",
        ]
    }

    func isMade() throws(AgentError) -> Bool { try changed(try EditedFile(file).text) == nil }

    @discardableResult
    func make() throws(AgentError) -> Restoring {
        let edited = try EditedFile(file)
        guard let new = try changed(edited.text) else { return {} }
        return try edited.replace(with: new)
    }

    func remnant() throws(AgentError) -> [String] {
        guard let text = try EditedFile(file).text, !text.isEmpty else { return [] }
        let layout = try layout(of: text)
        let ours = ours(in: layout)
        guard !ours.isEmpty else { return [] }
        let lines = ours.map { item in
            let value = layout.value(of: item)?.text ?? ""
            return "    " + (item.name.map { JSONValue.string($0).text + ": " } ?? "") + value
        }
        return ["\(file), \(container):"] + lines
    }

    /// Returns the items of the container that undo removes.
    private func ours(in layout: JSONLayout) -> [JSONLayout.Container.Item] {
        holder(in: layout)?.holder.items.filter { isOurs($0, in: layout) } ?? []
    }

    /// Returns whether undo removes an item of the container.
    private func isOurs(_ item: JSONLayout.Container.Item, in layout: JSONLayout) -> Bool {
        (name == nil || item.name == name) && (!isMarked || item.isMarked)
            && layout.value(of: item).map(isOurs) == true
    }

    func undo() throws(AgentError) {
        let edited = try EditedFile(file)
        guard var text = edited.text else { return }
        let old = text
        while let less = try reduced(text) { text = less }
        guard text != old else { return }
        // A file that existed and was empty has all members on one line.
        let wasEmpty = try isOnOneLine(old)
        try edited.replace(with: isBare(text) && (edited.isOwn || wasEmpty) ? "" : text)
    }

    /// Returns the names of the items that ``remnant()`` shows.
    func names() throws(AgentError) -> [String] {
        guard let text = try EditedFile(file).text, !text.isEmpty else { return [] }
        let layout = try layout(of: text)
        return ours(in: layout).compactMap(\.name)
    }

    /// Returns the container and its index among the members of the top-level object, or `nil` if it does not
    /// exist.
    private func holder(in layout: JSONLayout) -> (index: Int, holder: JSONLayout.Container)? {
        guard let index = layout.root.items.firstIndex(where: { $0.name == container }),
            let holder = layout.container(in: layout.root.items[index])
        else { return nil }
        return (index, holder)
    }

    /// Returns the text with the item, or `nil` if it already contains the item.
    private func changed(_ text: String?) throws(AgentError) -> String? {
        guard let text else { return "{\n  \(newContainer)\n}\n" }
        guard !text.isEmpty else { return "{\(newContainer)}\n" }
        let layout = try layout(of: text)
        guard let member = layout.root.items.first(where: { $0.name == container }) else {
            return layout.adding(newContainer, to: layout.root)
        }
        guard let holder = layout.container(in: member), holder.isObject != isElement else {
            throw EditedFile.conflictError(file, "\(container) is not an \(isElement ? "array" : "object")")
        }
        for present in holder.items
        where isElement ? layout.value(of: present) == value : present.name == name {
            guard layout.value(of: present) == value else { throw conflict }
            return nil
        }
        return layout.adding(item, to: holder)
    }

    private var newContainer: String {
        let brackets = isElement ? ["[", "]"] : ["{", "}"]
        return "\(JSONValue.string(container).text): \(brackets[0])\(item)\(brackets[1])"
    }

    /// Returns the text without one of our items, or `nil` if there is none.
    private func reduced(_ text: String) throws(AgentError) -> String? {
        guard !text.isEmpty else { return nil }
        let layout = try layout(of: text)
        guard let (index, holder) = holder(in: layout) else { return nil }
        guard let ours = holder.items.firstIndex(where: { isOurs($0, in: layout) }) else { return nil }
        // A container that was created for the item is on one line with it.
        return layout.isAlone(ours, in: holder) && layout.isOnOneLine(holder)
            ? layout.removing(index, from: layout.root) : layout.removing(ours, from: holder)
    }

    private func isOnOneLine(_ text: String) throws(AgentError) -> Bool {
        let layout = try layout(of: text)
        return layout.isOnOneLine(layout.root)
    }

    /// Returns whether only an empty object is left of a file that was created for the item.
    private func isBare(_ text: String) -> Bool { text.bytewise == "{}\n".bytewise }

    private func layout(of text: String) throws(AgentError) -> JSONLayout {
        guard let layout = JSONLayout(text), layout.root.isObject else {
            throw EditedFile.conflictError(file, "it is not a JSON object")
        }
        // The program could not read the file, with or without the item.
        guard !isStrict || (try? JSONValue(parsing: text.utf8)) != nil else {
            throw EditedFile.conflictError(file, "it is not JSON")
        }
        return layout
    }

    private var conflict: AgentError {
        AgentError(
            .badRequest,
            "\(file) already has another entry in \(container) for \(TerminalText.escaped(name ?? ""))",
            remedy: conflictRemedy
        )
    }
}
