// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing
import TokenCore

@testable import AgentServer

/// The table of endpoints, and the routes that are found by it.
@Suite struct EndpointTests {
    /// The path of an endpoint with a name and numbers in their places.
    private func path(_ endpoint: Endpoint) -> String {
        "/v1"
            + endpoint.traits.path.replacing("NAME", with: "work").replacing("ID", with: "7")
            .replacing("/N", with: "/7")
    }

    @Test(arguments: Endpoint.allCases)
    func `the path of each endpoint leads to it`(endpoint: Endpoint) throws {
        let route = try #require(Route(path: path(endpoint)[...]))
        #expect(route.traits.path == endpoint.traits.path)
        #expect(route.session == (endpoint.traits.path.contains("NAME") ? SessionName("work") : nil))
        #expect(Route(path: (path(endpoint) + "/")[...]) == route)
        #expect(Route(path: (path(endpoint) + "/x/y")[...]) == nil)
        for method in [HTTPRequest.Method.get, .head, .post, .delete, .other] {
            let isMeant = method.rawValue == endpoint.traits.method.rawValue
            let isHead = method == .head && endpoint.traits.method == .get && !endpoint.traits.isEndless
            #expect(route.accepts(method) == (isMeant || isHead))
        }
    }

    @Test func `no two endpoints share an address`() {
        let addresses = Endpoint.allCases.map { "\($0.traits.method) \($0.traits.path)" }
        #expect(Set(addresses).count == addresses.count)
    }

    @Test(arguments: [
        "/", "/v1x", "/v2/sessions", "/v1/sessions/a%2Fb", "/v1/sessions/work/login/x",
        "/v1/sessions/work/login/-1",
        "/v1/vault/slots/x", "/v1/vault/slots/-1", "/v1/vault/slots/99999999999999999999", "/v1/NAME",
    ])
    func `what is no address is none`(path: String) {
        #expect(Route(path: path[...]) == nil)
    }

    @Test func `a restricted socket answers what helpers need and nothing that changes anything but a token`()
    {
        let answered = Endpoint.allCases.filter(\.traits.worksAtRestrictedSocket)
        #expect(answered == [.agent, .sessions, .session, .token, .aws, .report])
    }
}
