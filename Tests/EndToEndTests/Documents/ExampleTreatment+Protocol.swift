// SPDX-License-Identifier: MIT

/// The examples of `tokenagent-protocol(7)`.
extension ExampleTreatment {
    static let protocolPage = requests + failures + changes + streams

    private static let curl = #"$ curl -s --unix-socket "$TOKENAGENT_SOCK""#

    /// Where the example goes on: its second line.
    private static func next(_ text: String) -> String { " \\\n      \(text)" }

    /// A request to `path`, which prints `shown`.
    private static func request(
        _ path: String,
        _ options: String = "",
        shows shown: String
    ) -> ExampleTreatment {
        ExampleTreatment("\(curl)\(options)\(next("http://tokenagent/v1/\(path)"))", .runs, shows: [shown])
    }

    private static let requests = [
        ExampleTreatment("$ curl --unix-socket", .runs, shows: [#""access_token":"TOKEN""#]),
        ExampleTreatment("\(curl) http://tokenagent/v1", .runs, shows: [#""api":1"#]),
        ExampleTreatment("\(curl) -H 'Accept: text/plain'", .runs, shows: ["TOKEN\n"]),
        request("sessions", shows: #"{"sessions":["#),
        request("sessions/work", shows: #""state":"ready""#),
        ExampleTreatment(
            "\(curl)\(next("'http://tokenagent/v1/audit"))",
            .runs,
            shows: [#""decision":"served""#]
        ),
        request("vault", shows: #""state":"unlocked""#),
        request("doctor", shows: #"{"checks":["#),
        request("metrics", shows: "tokenagent_uptime_seconds "),
        ExampleTreatment(
            "\(curl)\(next(#"-d '{"issuer""#))",
            .isReadBy(
                #"printf '%s\n' "$EXAMPLE" | sed "s/^\$ //; s|https://id.example.com|${API%/resource}|" | sh"#,
                reason: "the server is that of the stage"
            ),
            shows: [#"{"flows":["#]
        ),
    ]

    /// A request to `path` that the stage has nothing for, so that the response is an error with this code.
    private static func failure(
        _ path: String,
        _ options: String = "",
        code: String,
        reason: String
    ) -> ExampleTreatment {
        ExampleTreatment(
            "\(curl)\(options)\(next("http://tokenagent/v1/\(path)"))",
            .runsWith([:], reason: reason),
            shows: [#"{"error":{"code":"\#(code)""#]
        )
    }

    private static let failures = [
        failure("sessions/wrok", code: "not_found", reason: "the page shows an error"),
        failure("sessions/deploy/aws", code: "not_found", reason: "the scene has no role; STSTests have"),
        failure(
            "sessions/work/login/4711",
            #" -d '{"value":"123456"}'"#,
            code: "not_found",
            reason: "no login waits; LoginTests have one"
        ),
        failure("fleet", code: "misconfigured", reason: "the stage has no fleet"),
        failure(
            "fleet/join",
            #" -d '{"session":"work"}'"#,
            code: "misconfigured",
            reason: "the stage has no fleet"
        ),
        ExampleTreatment(
            "$ printf '{\"secret\"",
            .runsWith([:], reason: "the example has no secret"),
            shows: [#"{"error":{"code":"bad_request""#]
        ),
        ExampleTreatment(
            "$ printf '{\"type\":\"passphrase\"",
            .runsWith([:], reason: "the example has no key"),
            shows: [#"{"error":{"code":"denied""#]
        ),
    ]

    private static let changes = [
        ExampleTreatment("$ printf '{\"rejected_token\"", .runs, shows: [#""session":"work""#]),
        ExampleTreatment("$ printf '{\"token\"", .runs, shows: [#""action":"retry""#]),
        request("sessions/work/logout", #" -d '{"local":true}'"#, shows: #""told":"local""#),
        ExampleTreatment(
            "\(curl)\(next(#"-d '{"sessions""#))",
            .runs,
            shows: [#"{"sessions":["work"],"host":"build1"}"#]
        ),
        request("lock", " -X POST", shows: #"{"locked":true}"#),
        request("unlock", " -X POST", shows: #"{"locked":false}"#),
        request("reload", " -X POST", shows: #""sessions":3"#),
        request("shutdown", " -X POST", shows: #"{"stopping":true}"#),
    ]

    private static let streams = [
        ExampleTreatment(
            "$ curl -sN --unix-socket \"$TOKENAGENT_SOCK\"\(next("-d '{\"flow\""))",
            .runs,
            shows: [#"{"event":"done","session":"work""#]
        ),
        ExampleTreatment(
            "$ curl -sN --unix-socket \"$TOKENAGENT_SOCK\"\(next("http://tokenagent/v1/events"))",
            .isReadBy(
                #"printf '%s\n' "$EXAMPLE" | sed 's/^\$ //' >request; timeout 1 sh ./request || test $? = 124"#,
                reason: "the stream does not end by itself"
            )
        ),
    ]
}
