// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Fetches public JSON documents.
enum JSONFetch {
    /// What a failure says about other places where the document may be; the greatest of a search is told.
    enum Sign: Int, Comparable {
        /// There is nothing at this place.
        case missing
        /// Something else is there: a page, a redirect, a refusal.
        case nonsense
        /// A document, but not the one.
        case wrongDocument
        /// The server cannot be asked now, so the other places say nothing either.
        case outage

        static func < (one: Sign, other: Sign) -> Bool { one.rawValue < other.rawValue }
    }

    /// Why there is no document at a place.
    struct Miss: Error {
        var sign: Sign
        var failure: RefreshFailure
    }

    /// The object at `address`, which is the only place for it.
    ///
    /// A page in place of the object is a portal's, which speaks for the network.
    /// - Throws: `misconfigured` when the server answers with something else for good (404, no JSON).
    static func get(
        _ address: String,
        trust: ServerTrust,
        publicAddressOnly: Bool = false,
        tools: ServerDependencies
    ) async throws(RefreshFailure) -> (JSONObject, ServerResponse, EndpointURL) {
        do throws(Miss) {
            let place = Place(
                address: address,
                trust: trust,
                publicAddressOnly: publicAddressOnly,
                limit: nil
            )
            return try await get(place, isOneOfSeveral: false, tools)
        } catch {
            throw error.failure
        }
    }

    /// What `read` makes of the first object at one of `places` that it accepts, and which of them that is.
    ///
    /// What is no such object does not end the search: servers answer for places that they do not know with redirects,
    /// pages and documents of all kinds.
    ///
    /// - Throws: what tells most of all that was found, if nothing was accepted; a server in trouble ends the search.
    static func first<Value>(
        of places: [String],
        trust: ServerTrust,
        publicAddressOnly: Bool,
        limit: Duration? = nil,
        tools: ServerDependencies,
        _ read: (JSONObject, ServerResponse, EndpointURL) throws(RefreshFailure) -> Value
    ) async throws(Miss) -> (Value, place: Int) {
        let nowhere = RefreshFailure(kind: .misconfigured, message: "there is no place to look at")
        var worst: Miss?
        for (number, address) in places.enumerated() {
            do throws(Miss) {
                let place = Place(
                    address: address,
                    trust: trust,
                    publicAddressOnly: publicAddressOnly,
                    limit: limit
                )
                let (object, reply, url) = try await get(place, isOneOfSeveral: true, tools)
                do throws(RefreshFailure) {
                    return (try read(object, reply, url), number)
                } catch {
                    throw Miss(sign: .wrongDocument, failure: error)
                }
            } catch {
                guard error.sign != .outage else { throw error }
                if worst.map({ $0.sign < error.sign }) ?? true { worst = error }
            }
        }
        throw worst ?? Miss(sign: .missing, failure: nowhere)
    }

    /// Where a document may be.
    private struct Place {
        var address: String
        var trust: ServerTrust
        var publicAddressOnly: Bool
        var limit: Duration?
    }

    private static func get(
        _ place: Place,
        isOneOfSeveral: Bool,
        _ tools: ServerDependencies
    ) async throws(Miss) -> (JSONObject, ServerResponse, EndpointURL) {
        let url: EndpointURL
        do throws(RefreshFailure) {
            url = try EndpointURL(place.address, of: place.address)
        } catch {
            throw Miss(sign: .nonsense, failure: error)
        }
        var request = OutgoingRequest(
            url: url,
            trust: place.trust,
            publicAddressOnly: place.publicAddressOnly
        )
        request.headers = [("accept", "application/json")]
        request.limit = place.limit
        let reply: ServerResponse
        do throws(TransportFailure) {
            reply = try await tools.exchanged(request)
        } catch {
            let isOversized = if case .oversized = error { true } else { false }
            throw Miss(sign: isOversized ? .nonsense : .outage, failure: error.refreshFailure(at: url))
        }
        guard reply.status == 200, let object = reply.jsonObject else {
            throw miss(reply, url, isOneOfSeveral, tools)
        }
        return (object, reply, url)
    }

    /// What a reply without an object means: where the object is looked for at several places, a page may as well be the
    /// server's own for what is not there.
    private static func miss(
        _ reply: ServerResponse,
        _ url: EndpointURL,
        _ isOneOfSeveral: Bool,
        _ tools: ServerDependencies
    ) -> Miss {
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
        return Miss(sign: isOutage ? .outage : isMissing ? .missing : .nonsense, failure: failure)
    }

    private static func words(for reply: ServerResponse, at url: EndpointURL) -> String {
        if reply.status == 200 {
            return reply.isHTML ? "the answer is a web page, not JSON" : "the answer is not a JSON object"
        }
        guard (300..<400).contains(reply.status) else { return "answered \(reply.status)" }
        // A query may hold what is nobody's business.
        let target = reply.header("location").map { $0.prefix { $0 != "?" && $0 != "#" } }
        let place = target.map { "to \(ServerText.cleaned($0, limit: 200)), " } ?? ""
        return "answered \(reply.status): a redirect \(place)which is not followed"
    }
}
