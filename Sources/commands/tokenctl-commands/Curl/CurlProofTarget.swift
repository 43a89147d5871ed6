// SPDX-License-Identifier: MIT

import AgentProtocol

/// The request that curl's arguments describe, as far as a proof of possession depends on it.
struct CurlProofTarget: Equatable {
    private var urls: [String] = []
    private var request: String?
    private var upload: String?
    private var isHead = false
    private var isGet = false
    private var hasBody = false
    private var takesURLsLiterally = false

    mutating func read(url: String) {
        urls.append(url)
    }

    /// Records an option without a value, given by its letter or its long name.
    mutating func read(flag: String) {
        switch flag {
        case "I", "head": isHead = true
        case "G", "get": isGet = true
        case "g", "globoff": takesURLsLiterally = true
        default: break
        }
    }

    /// Records the value of an option.
    mutating func read(_ value: String, of name: String) {
        switch name {
        case "url": urls.append(value)
        case "X", "request": request = value
        case "T", "upload-file": upload = value.isEmpty ? nil : value
        case "d", "data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json", "F", "form",
            "form-string":
            hasBody = true
        default: break
        }
    }

    /// Returns the server that all URLs name.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` unless there are complete URLs for exactly one
    ///   server.
    func server() throws(AgentError) -> ServerAddress {
        var found: ServerAddress?
        for url in urls {
            guard let server = ServerAddress(url: url), server.scheme == "https" || server.scheme == "http"
            else {
                // A URL with a user may also contain a password; an argument that begins with "@" names a
                // file.
                let mayHoldPassword = url.utf8.dropFirst().contains(UInt8(ascii: "@"))
                let name = mayHoldPassword ? "a URL in curl's arguments" : url
                throw AgentError(
                    .badRequest,
                    "cannot determine the server of \(name): not a complete URL",
                    remedy: .set("the complete URL, with https:// and a literal host")
                )
            }
            if let found, found.origin != server.origin {
                throw AgentError(
                    .badRequest,
                    "cannot send the token to two servers: \(found.origin) and \(server.origin)",
                    remedy: .retry("with one tokenctl curl for each server")
                )
            }
            found = server
        }
        guard let found else {
            throw AgentError(.badRequest, "no URL in curl's arguments", remedy: .set("a URL after --"))
        }
        return found
    }

    /// Whether curl sends several requests for the URLs.
    var namesSeveral: Bool { urls.count > 1 || !urls.allSatisfy(namesOneResource) }

    /// The method that curl uses.
    var method: String {
        if let request { return request }
        if isHead { return "HEAD" }
        if upload != nil { return "PUT" }
        return hasBody && !isGet ? "POST" : "GET"
    }

    /// Returns the proof to request for the one request.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` unless there is exactly one request with a
    ///   complete URL.
    func proof(session: String) throws(AgentError) -> TokenRequest.ProofTarget {
        guard let url = urls.first, urls.count == 1, namesOneResource(url) else {
            throw AgentError(
                .badRequest,
                "a proof of possession requires exactly one URL in curl's arguments",
                remedy: .run("tokenctl get \(session) --dpop-url URL --format curl")
            )
        }
        // A proof does not cover the query, which may be long.
        let resource = url.prefix { $0 != "?" && $0 != "#" }
        guard !addsFileName(to: resource, url) else {
            throw AgentError(
                .badRequest,
                "a proof of possession requires the complete URL: curl would append the file name to \(resource)",
                remedy: .set("the URL with the file name at its end")
            )
        }
        return TokenRequest.ProofTarget(url: String(resource), method: method)
    }

    /// Returns whether curl sends one request for `url`: it expands braces and brackets except those of an
    /// IPv6 address.
    private func namesOneResource(_ url: String) -> Bool {
        if takesURLsLiterally { return true }
        let host = (url.split(separator: "/").dropFirst().first ?? "").prefix { $0 != "]" }
        let isAddress = host.hasPrefix("[") && host.count { $0 == ":" } > 1
        let rest = isAddress ? url.drop { $0 != "]" } : url[...]
        return !"\(rest)\(upload ?? "")".contains { "{[".contains($0) }
    }

    /// Returns whether curl appends the name of the uploaded file to the path.
    private func addsFileName(to resource: Substring, _ url: String) -> Bool {
        guard let upload, !["-", "."].contains(upload) else { return false }
        let path = resource.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        return !url.contains("?") && (!path.contains("/") || path.hasSuffix("/"))
    }
}
