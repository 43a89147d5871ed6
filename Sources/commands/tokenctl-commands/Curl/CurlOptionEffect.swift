// SPDX-License-Identifier: MIT

/// The effect of an option of curl 7.60 to 8.17 on where the token is sent.
///
/// An option that is not listed is rejected, because the token might then leave its server. That includes
/// abbreviated names, which curl accepts if only one option begins with them.
enum CurlOptionEffect: Equatable {
    /// An option without influence on where the token is sent.
    case harmless(takesValue: Bool)
    /// An option that routes the connection through or to another machine, so that only TLS identifies the
    /// server.
    case diverting(takesValue: Bool)
    /// An option that disables the verification of the server.
    case unproven
    /// An option that would send the token elsewhere, with the reason as a clause.
    case refused(String)

    var takesValue: Bool {
        switch self {
        case .harmless(let takesValue), .diverting(let takesValue): takesValue
        case .unproven, .refused: false
        }
    }

    /// Finds the option with a long name without dashes or a single letter, or returns `nil` if there is
    /// none.
    init?(_ name: String) {
        if let reason = CurlOptionEffect.reasons[name] {
            self = .refused(reason)
        } else if name == "k" || name == "insecure" {
            self = .unproven
        } else if CurlOptionEffect.divertingWithValue.contains(name) {
            self = .diverting(takesValue: true)
        } else if name == "p" || name == "proxytunnel" {
            self = .diverting(takesValue: false)
        } else if CurlOptionEffect.withValue.contains(name) {
            self = .harmless(takesValue: true)
        } else if CurlOptionEffect.flags.contains(name.hasPrefix("no-") ? String(name.dropFirst(3)) : name) {
            self = .harmless(takesValue: false)
        } else {
            return nil
        }
    }

    private static let reasons: [String: String] = {
        let variables = "tokenctl cannot check its variables"
        let file = "tokenctl cannot check the options in the file"
        let help = "it requires no token"
        let credential = "it would replace the session's token"
        return [
            "location-trusted": "it sends the token to the server of each redirect",
            "K": file, "config": file, "metalink": "tokenctl cannot check the servers in the file",
            "libcurl": "it writes the token to a file", "variable": variables,
            "u": credential, "user": credential, "oauth2-bearer": credential, "aws-sigv4": credential,
            "h": help, "help": help, "M": help, "manual": help, "V": help, "version": help,
        ]
    }()

    private static let divertingWithValue: Set = [
        "x", "abstract-unix-socket", "alt-svc", "connect-to", "dns-interface", "dns-ipv4-addr",
        "dns-ipv6-addr",
        "dns-servers", "doh-url", "preproxy", "proxy", "proxy1.0", "resolve", "socks4", "socks4a", "socks5",
        "socks5-hostname", "unix-socket",
    ]

    private static let withValue: Set = [
        "A", "b", "C", "c", "D", "d", "E", "e", "F", "H", "m", "o", "P", "Q", "r", "T", "t", "U", "w",
        "X", "Y",
        "y", "z",
        "cacert", "capath", "cert", "cert-type", "ciphers", "connect-timeout", "continue-at",
        "cookie",
        "cookie-jar", "create-file-mode", "crlfile", "curves", "data", "data-ascii", "data-binary",
        "data-raw",
        "data-urlencode", "delegation", "dump-header", "ech", "egd-file", "engine", "etag-compare",
        "etag-save",
        "expect100-timeout", "form", "form-string", "ftp-account", "ftp-alternative-to-user", "ftp-method",
        "ftp-port", "ftp-ssl-ccc-mode", "happy-eyeballs-timeout-ms", "haproxy-clientip", "header",
        "hostpubmd5", "hostpubsha256", "hsts", "interface", "ip-tos", "ipfs-gateway", "json", "keepalive-cnt",
        "keepalive-time", "key", "key-type", "knownhosts", "krb", "limit-rate", "local-port", "login-options",
        "mail-auth", "mail-from", "mail-rcpt", "max-filesize", "max-redirs", "max-time", "netrc-file",
        "noproxy",
        "output", "output-dir", "parallel-max", "parallel-max-host", "pass", "pinnedpubkey",
        "proto", "proto-default", "proto-redir", "proxy-cacert", "proxy-capath", "proxy-cert",
        "proxy-cert-type",
        "proxy-ciphers", "proxy-crlfile", "proxy-header", "proxy-key", "proxy-key-type", "proxy-pass",
        "proxy-pinnedpubkey", "proxy-service-name", "proxy-tls13-ciphers", "proxy-tlsauthtype",
        "proxy-tlspassword", "proxy-tlsuser", "proxy-user", "pubkey", "quote", "random-file", "range", "rate",
        "referer", "request", "request-target", "retry", "retry-delay", "retry-max-time", "sasl-authzid",
        "service-name", "sigalgs", "socks5-gssapi-service", "speed-limit", "speed-time", "ssl-sessions",
        "stderr",
        "telnet-option", "tftp-blksize", "time-cond", "tls-max", "tls13-ciphers", "tlsauthtype",
        "tlspassword",
        "tlsuser", "trace", "trace-ascii", "trace-config", "upload-file", "upload-flags", "url", "url-query",
        "user-agent", "vlan-priority", "write-out",
    ]

    private static let flags: Set = [
        "0", "1", "2", "3", "4", "6", "#", "a", "B", "f", "G", "g", "I", "i", "J", "j", "L", "l", "N", "n",
        "O", "q",
        "R", "S", "s", "v", "Z",
        "alpn", "anyauth", "append", "basic", "buffer", "ca-native", "cert-status", "clobber", "compressed",
        "compressed-ssh", "create-dirs", "crlf", "digest", "disable", "disable-eprt", "disable-epsv",
        "disallow-username-in-url", "doh-cert-status", "doh-insecure", "dump-ca-embed", "fail", "fail-early",
        "fail-with-body", "false-start", "follow", "form-escape", "ftp-create-dirs", "ftp-pasv", "ftp-pret",
        "ftp-skip-pasv-ip", "ftp-ssl-ccc", "ftp-ssl-control", "get", "globoff", "haproxy-protocol", "head",
        "http0.9", "http1.0", "http1.1", "http2", "http2-prior-knowledge", "http3", "http3-only",
        "ignore-content-length", "include", "ipv4", "ipv6", "junk-session-cookies", "keepalive", "list-only",
        "location", "mail-rcpt-allowfails", "mptcp", "negotiate", "netrc", "netrc-optional", "npn", "ntlm",
        "ntlm-wb", "out-null", "parallel", "parallel-immediate", "path-as-is", "post301", "post302",
        "post303",
        "progress-bar", "progress-meter", "proxy-anyauth", "proxy-basic", "proxy-ca-native", "proxy-digest",
        "proxy-http2", "proxy-http3", "proxy-insecure", "proxy-negotiate", "proxy-ntlm",
        "proxy-ssl-allow-beast",
        "proxy-ssl-auto-client-cert", "proxy-tlsv1", "raw", "remote-header-name", "remote-name",
        "remote-name-all", "remote-time", "remove-on-error", "retry-all-errors", "retry-connrefused",
        "sasl-ir",
        "sessionid", "show-error", "show-headers", "silent", "skip-existing", "socks5-basic", "socks5-gssapi",
        "socks5-gssapi-nec", "ssl", "ssl-allow-beast", "ssl-auto-client-cert", "ssl-no-revoke", "ssl-reqd",
        "ssl-revoke-best-effort", "sslv2", "sslv3", "styled-output", "suppress-connect-headers",
        "tcp-fastopen",
        "tcp-nodelay", "tftp-no-options", "tls-earlydata", "tlsv1", "tlsv1.0", "tlsv1.1", "tlsv1.2",
        "tlsv1.3",
        "tr-encoding", "trace-ids", "trace-time", "use-ascii", "verbose", "xattr",
    ]
}
