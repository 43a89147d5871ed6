// SPDX-License-Identifier: MIT

/// Values that are addresses or paths.
extension TableReader {
    package mutating func requiredURL(_ key: String, _ purpose: String) -> EndpointURL? {
        if !has(key) { report(key, "required: \(purpose)") }
        return url(key)
    }

    /// Reads an https URL, or a plain http URL with a literal loopback address.
    package mutating func url(_ key: String) -> EndpointURL? {
        string(key).flatMap { url($0, of: key) }
    }

    /// Parses the URL in `text`, the value of `key`, and reports why it is invalid.
    package mutating func url(_ text: String, of key: String) -> EndpointURL? {
        do throws(EndpointURLError) {
            return try EndpointURL(text)
        } catch {
            report(key, error.description)
            return nil
        }
    }

    /// Reads a URL to which paths are appended, and removes a trailing slash.
    mutating func baseAddress(_ key: String) -> String? {
        guard let url = url(key) else { return nil }
        guard url.query == nil else {
            report(key, "must not contain a query (?)")
            return nil
        }
        let address = url.description
        return address.utf8.last == UInt8(ascii: "/") ? String(address.dropLast()) : address
    }

    /// Reads an absolute path, in which a leading `~/` means the home directory.
    package mutating func path(_ key: String, home: String?) -> String? {
        guard let text = string(key) else { return nil }
        if text.hasPrefix("~/"), let home { return home + text.dropFirst() }
        guard text.hasPrefix("/") else {
            report(key, "must be an absolute path or begin with ~/")
            return nil
        }
        return text
    }

    /// Reads `region`, which becomes part of host names and is required unless all of `endpoints` are set.
    mutating func awsRegion(unless endpoints: [String]) -> String? {
        guard let region = string("region") else {
            if !has("region"), !endpoints.allSatisfy({ has($0) }) {
                report("region", "required: AWS region, such as \"eu-west-1\"")
            }
            return nil
        }
        guard AWSRegion.isName(region) else {
            report("region", "\"\(region)\" is not an AWS region, such as eu-west-1")
            return nil
        }
        return region
    }
}
