// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// Fetching of public JSON documents.
enum JSONFetch {
    /// The meaning of a failure for the other locations of a document.
    ///
    /// A search reports the greatest one.
    enum FailureKind: Int, Comparable {
        /// There is nothing at this location.
        case missing
        /// Something else is at this location: a page, a redirect or a rejection.
        case nonsense
        /// A document is there, but it is the wrong one.
        case wrongDocument
        /// The server cannot respond now, so trying its other locations is useless.
        case outage

        static func < (one: FailureKind, other: FailureKind) -> Bool { one.rawValue < other.rawValue }
    }

    /// The reason there is no document at a location.
    struct FetchError: Error {
        var kind: FailureKind
        var failure: RefreshFailure
    }

    /// Fetches the object at `address`, which is its only location.
    ///
    /// A page instead of the object was written by a portal, and not by the server.
    ///
    /// - Throws: `misconfigured` if the server permanently responds with something else (404, no JSON).
    static func get(
        _ address: String,
        trust: ServerTrust,
        publicAddressOnly: Bool = false,
        tools: ServerDependencies
    ) async throws(RefreshFailure) -> (JSONObject, ServerResponse, EndpointURL) {
        do throws(FetchError) {
            let location = Location(
                address: address,
                trust: trust,
                publicAddressOnly: publicAddressOnly,
                limit: nil
            )
            return try await get(location, isOneOfSeveral: false, tools)
        } catch {
            throw error.failure
        }
    }

    /// Fetches the first object at one of `locations` that `read` accepts.
    ///
    /// Other content does not end the search: servers respond at unknown locations with redirects, pages and
    /// documents of all kinds.
    ///
    /// - Returns: The result of `read`, and the index of the location.
    /// - Throws: The most significant failure if nothing was accepted. A server that cannot respond now ends
    ///   the search.
    static func first<Value>(
        of locations: [String],
        trust: ServerTrust,
        publicAddressOnly: Bool,
        limit: Duration? = nil,
        tools: ServerDependencies,
        _ read: (JSONObject, ServerResponse, EndpointURL) throws(RefreshFailure) -> Value
    ) async throws(FetchError) -> (Value, location: Int) {
        let nowhere = RefreshFailure(kind: .misconfigured, message: "no URL to fetch the metadata from")
        var worst: FetchError?
        for (number, address) in locations.enumerated() {
            do throws(FetchError) {
                let location = Location(
                    address: address,
                    trust: trust,
                    publicAddressOnly: publicAddressOnly,
                    limit: limit
                )
                let (object, reply, url) = try await get(location, isOneOfSeveral: true, tools)
                do throws(RefreshFailure) {
                    return (try read(object, reply, url), number)
                } catch {
                    throw FetchError(kind: .wrongDocument, failure: error)
                }
            } catch {
                guard error.kind != .outage else { throw error }
                if worst.map({ $0.kind < error.kind }) ?? true { worst = error }
            }
        }
        throw worst ?? FetchError(kind: .missing, failure: nowhere)
    }

    /// A location of a document.
    private struct Location {
        var address: String
        var trust: ServerTrust
        var publicAddressOnly: Bool
        var limit: Duration?
    }

    private static func get(
        _ location: Location,
        isOneOfSeveral: Bool,
        _ tools: ServerDependencies
    ) async throws(FetchError) -> (JSONObject, ServerResponse, EndpointURL) {
        let url: EndpointURL
        do throws(RefreshFailure) {
            url = try EndpointURL(location.address, of: location.address)
        } catch {
            throw FetchError(kind: .nonsense, failure: error)
        }
        var request = OutgoingRequest(
            url: url,
            trust: location.trust,
            publicAddressOnly: location.publicAddressOnly
        )
        request.headers = [("accept", "application/json")]
        request.limit = location.limit
        let reply: ServerResponse
        do throws(TransportFailure) {
            reply = try await tools.exchanged(request)
        } catch {
            let isOversized = if case .oversized = error { true } else { false }
            throw FetchError(kind: isOversized ? .nonsense : .outage, failure: error.refreshFailure(at: url))
        }
        guard reply.status == 200, let object = reply.jsonObject else {
            throw fetchError(reply, url, isOneOfSeveral, tools)
        }
        return (object, reply, url)
    }

    /// Classifies a response without an object.
    ///
    /// If there are several locations, a page may be the server's own for a missing document.
    private static func fetchError(
        _ reply: ServerResponse,
        _ url: EndpointURL,
        _ isOneOfSeveral: Bool,
        _ tools: ServerDependencies
    ) -> FetchError {
        let answer = reply.refused(object: nil, at: tools.timekeeper.wallTime)
        let isMissing =
            [400, 401, 404, 405, 410].contains(reply.status) && (isOneOfSeveral || !answer.isHTML)
        let isNoJSON = reply.status == 200 && !answer.isHTML
        let failure = RefreshFailure(
            kind: isMissing || isNoJSON ? .misconfigured : .busy,
            message: ServerText.cleaned("\(url.description): \(words(for: reply, at: url))"),
            retryAfter: answer.retryAfter
        )
        let isOutage = [408, 425, 429].contains(reply.status) || reply.status >= 500
        return FetchError(kind: isOutage ? .outage : isMissing ? .missing : .nonsense, failure: failure)
    }

    private static func words(for reply: ServerResponse, at url: EndpointURL) -> String {
        if reply.status == 200 {
            return reply.isHTML ? "received HTML instead of JSON" : "the response is not a JSON object"
        }
        guard (300..<400).contains(reply.status) else { return "returned \(reply.status)" }
        // The query is left out because it may contain confidential data.
        let target = reply.header("location").map { $0.prefix { $0 != "?" && $0 != "#" } }
        let location = target.map { " to \(ServerText.cleaned($0, limit: 200))" } ?? ""
        return "returned \(reply.status): refusing to follow the redirect\(location)"
    }
}
