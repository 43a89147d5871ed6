// SPDX-License-Identifier: MIT

import Crypto
import Text
import TokenCore

/// A page of the redirect listener.
///
/// The page contains nothing of the request and no script, and loads nothing.
struct CallbackPage {
    /// The kind of outcome, which decides the symbol and color.
    enum Mood: String {
        case good, bad, calm
    }

    var status = 200
    var mood = Mood.calm
    var title: String
    /// The sentences and the remedy, each of them a paragraph.
    var text: [String] = []
    var rows: [(name: String, value: String)] = []
    /// A command that helps the user.
    var command: String?

    /// Creates the page that shows the outcome of a login.
    init(_ ending: LoginResultForBrowser) {
        let known: [(name: String, value: String)] = [
            ("Session", ending.session), ("Account", ending.account ?? ""), ("Server", ending.server),
        ]
        rows = known.filter { !$0.value.isEmpty }
        guard let failure = ending.failure else {
            mood = .good
            title = "You are logged in"
            text = ["You can close this page."]
            return
        }
        mood = .bad
        title = "The login failed"
        rows.append((name: "Reason", value: failure.message))
        if !ending.session.isEmpty { advise(failure.remedy, before: "tokenctl login \(ending.session)") }
    }

    /// Adds the remedy, and `login`, which is needed after it.
    private mutating func advise(_ remedy: Remedy?, before login: String) {
        guard let remedy else {
            text.append("To try again, run:")
            command = login
            return
        }
        switch remedy.kind {
        case .run:
            text.append("Run:")
            command = remedy.followed(by: login).text
        // It shows more, but a login does not follow from it.
        case .see: text.append(remedy.labelled)
        case .set, .retry:
            let steps = remedy.followed(by: login).steps
            text += [steps.first.labelled, "Then run:"]
            command = steps.command
        }
    }

    init(status: Int = 200, mood: Mood = .calm, title: String, text: [String]) {
        (self.status, self.mood, self.title, self.text) = (status, mood, title, text)
    }

    /// Returns the page for a login that takes longer than the browser waits.
    static func unfinished(of session: SessionName?) -> CallbackPage {
        var page = CallbackPage(
            title: "See the terminal",
            text: [
                "The login is not finished yet. The terminal shows how it ends.", "You can close this page.",
            ]
        )
        if let session { page.rows = [("Session", session.description)] }
        return page
    }

    /// Creates the page for a request that is not the response to the pending login.
    init(_ error: CallbackError) {
        let status: Int
        let text: [String]
        switch error {
        case .noAnswer:
            // A response after `#` stays in the browser.
            let reason = "This address was opened without a response. The server may send it after a #."
            text = [reason] + CallbackPage.otherMode
            status = 400
        case .otherLogin:
            text = ["This is not the response to a login that is pending here.", CallbackPage.again]
            status = 400
        case .refused(let refused):
            text = CallbackPage.advice(on: refused)
            status = refused
        }
        let title = error == .noAnswer ? "No login response" : "Not a login"
        self.init(status: status, mood: .bad, title: title, text: text)
    }

    /// Advice that helps in every case.
    private static let again = "Use the URL in the terminal, or run tokenctl login again."
    /// Advice for a response that arrives in another way than in the query.
    private static let otherMode = [
        "Set: response_mode = \"query\" in authorization_parameters of the session",
        "Then run tokenctl login again.",
    ]

    private static func advice(on status: Int) -> [String] {
        switch status {
        case 404: ["There is nothing here.", again]
        case 405:
            ["This address accepts no forms. The server may have sent its response as one."] + otherMode
        case 413: ["The form is too large."] + otherMode
        case 415: ["This is not a form.", again]
        case 431:
            ["The request is too large.", "Delete the cookies of this address, or log in with --paste."]
        default: ["This is not the response to a login that is pending here.", again]
        }
    }

    /// The complete HTTP response.
    var response: String {
        CallbackPage.response(
            status,
            [
                "Content-Type: text/html; charset=utf-8",
                "Content-Security-Policy: default-src 'none'; style-src 'sha256-\(CallbackPage.styleDigest)'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ],
            body: document
        )
    }

    /// Returns a response that redirects to `path`, so that the address bar and the history of the tab do not
    /// keep the code.
    ///
    /// Without the `#` the browser would keep what was after it (RFC 9110 §10.2.2).
    static func redirect(to path: String) -> String {
        response(303, ["Location: \(path)#", "Content-Security-Policy: default-src 'none'"], body: "")
    }

    private static func response(_ status: Int, _ fields: [String], body: String) -> String {
        let head =
            ["HTTP/1.1 \(status) \(reasons[status] ?? "Bad Request")"] + fields + [
                "Content-Length: \(body.utf8.count)", "Referrer-Policy: no-referrer",
                "Cache-Control: no-store",
                "X-Content-Type-Options: nosniff", "Connection: close", "", "",
            ]
        return head.joined(separator: "\r\n") + body
    }

    private static let reasons = [
        200: "OK", 303: "See Other", 404: "Not Found", 405: "Method Not Allowed", 413: "Content Too Large",
        415: "Unsupported Media Type", 431: "Request Header Fields Too Large",
    ]

    // MARK: HTML

    private var document: String {
        let paragraphs = text.map { "<p>\(CallbackPage.escaped($0))</p>" }.joined()
        let list = rows.map {
            "<div><dt>\(CallbackPage.escaped($0.name))</dt><dd dir=\"auto\">\(CallbackPage.escaped($0.value))</dd></div>"
        }
        .joined()
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(CallbackPage.escaped(title)) – tokenagent</title>
            <style>\(CallbackPage.style)</style></head>
            <body><main class="\(mood.rawValue)">
            <svg viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="23"/><path d="\(mood.mark)"/></svg>
            <h1>\(CallbackPage.escaped(title))</h1>
            \(rows.isEmpty ? "" : "<dl>\(list)</dl>")
            \(paragraphs)\(command.map { "<pre><code>\(CallbackPage.escaped($0))</code></pre>" } ?? "")
            </main><footer>tokenagent</footer></body></html>

            """
    }

    /// Escapes `text` so that HTML shows it as text.
    private static func escaped(_ text: String) -> String {
        let entities: [Unicode.Scalar: String] = [
            "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;",
        ]
        return text.unicodeScalars.map { entities[$0] ?? String($0) }.joined()
    }

    /// The digest of the style.
    ///
    /// Only a style with this digest is allowed.
    private static let styleDigest = Base64.encoded(SHA256.hash(data: Array(style.utf8)))

    private static let style = """
        :root{--back:#eef1f5;--card:#fff;--text:#1c2733;--dim:#56636f;--line:#dde3ea;--code:#f2f5f8;--good:#1a7f4b;\
        --bad:#b3261e;--calm:#4a5a6a}
        @media (prefers-color-scheme:dark){:root{--back:#12171d;--card:#1c232b;--text:#e8edf2;--dim:#9fadba;\
        --line:#313b46;--code:#12171d;--good:#5fd39a;--bad:#ff8a80;--calm:#a9b8c6}}
        *{box-sizing:border-box}
        body{margin:0;min-height:100vh;padding:24px 16px;display:flex;flex-direction:column;align-items:center;\
        justify-content:center;background:var(--back);color:var(--text);\
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        main{width:100%;max-width:460px;padding:36px 32px 30px;background:var(--card);border:1px solid var(--line);\
        border-radius:14px;text-align:center;box-shadow:0 6px 24px rgba(0,0,0,.07);overflow-wrap:anywhere}
        svg{width:56px;height:56px;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;\
        stroke-linejoin:round}
        path{stroke-width:4}
        .good svg{color:var(--good)}.bad svg{color:var(--bad)}.calm svg{color:var(--calm)}
        h1{margin:14px 0 18px;font-size:1.5rem;line-height:1.25}
        dl{margin:0 0 20px;text-align:left;border-top:1px solid var(--line)}
        dl div{display:flex;gap:16px;padding:9px 2px;border-bottom:1px solid var(--line)}
        dt{flex:0 0 5em;color:var(--dim)}
        dd{margin:0}
        h1,p{text-wrap:balance}
        p{margin:0 0 10px;color:var(--dim)}
        pre{margin:14px 0 4px;padding:11px 14px;background:var(--code);border:1px solid var(--line);border-radius:8px;\
        text-align:left;white-space:pre-wrap;font:14px/1.4 ui-monospace,"DejaVu Sans Mono",monospace}
        footer{margin-top:16px;color:var(--dim);font-size:.85rem}
        @media (max-width:480px){main{padding:28px 20px 24px}}
        """
}

extension CallbackPage.Mood {
    /// The SVG path inside the circle.
    fileprivate var mark: String {
        switch self {
        case .good: "M15 25l6 6 12-13"
        case .bad: "M17 17l14 14M31 17L17 31"
        case .calm: "M14 24h.1M24 24h.1M34 24h.1"
        }
    }
}
