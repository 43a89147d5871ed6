// SPDX-License-Identifier: MIT

import CommandCore

/// The output of `tokenctl config example`: `packaging/examples/config.toml`, which a test compares with it.
enum ExampleConfiguration {
    static let text = #"""
        # SPDX-License-Identifier: MIT
        #
        # tokenagent configuration, see tokenagent.conf(5). Lines that begin with "#" and no blank are settings to
        # switch on; those of [agent] show the defaults. After a change: tokenctl config check
        #
        # "Redirect" below is the redirect URI to register with the server. Servers that follow RFC 8252 accept any port on
        # 127.0.0.1; for the others redirect_port fixes it.

        [agent]
        #refresh_before = "5m"     # refresh this long before expiry, at most a third of the token's lifetime
        #min_validity   = "30s"    # minimum remaining validity, at most half of the token's lifetime
        #get_timeout    = "30s"    # a get waits at most this long for a refresh
        #refreshes_per_second = 5  # of all sessions of one issuer together
        #log_level      = "notice"
        #allow_root     = false    # the administrator may connect to an agent that is not its own
        #audit          = true     # log every served token, see tokenctl audit
        #proxy          = "http://proxy.example.com:3128"   # default: HTTPS_PROXY; "direct": none
        #proxy_credentials_file = "/home/me/.config/tokenagent/proxy"   # user:password; or proxy_credentials_command

        [hooks]                    # program and arguments; event and session arrive in the environment
        #login_required = ["sh", "-c", 'mail -s "$TOKENAGENT_SESSION needs a login" me </dev/null']
        #event          = ["sh", "-c", 'logger -t tokenagent -- "$TOKENAGENT_EVENT $TOKENAGENT_SESSION"']
        #desktop        = true     # desktop notification when a login is required, or soon will be
        #confirm        = ["ssh-askpass", "Give out a token?"]   # exit status 0 allows, for rules with confirm

        [vault]
        #require_locked_memory = false   # true: do not start when the memory of the keys cannot be locked
        #unlock_command = ["pass", "show", "tokenagent"]   # the command that vault slots --type command may run
        #rollback_counter = ["/usr/local/bin/tpm-rollback-counter", "0x1500016"]   # refuse old copies of the store

        # Hosts that share sessions, see tokenagent-fleet(7); each shared session has fleet = true.
        #[fleet]
        #name             = "build"
        #role             = "keeper"           # "reader": decrypts access tokens only
        #host             = "host1"            # by default the name of the machine
        #endpoints        = ["https://etcd1.example.com:2379"]
        #user             = "host1"            # at etcd
        #password_command = ["pass", "show", "etcd"]   # or password_file
        #ca_file          = "/etc/ssl/private-ca.pem"
        #certificate_file = "/home/me/.config/tokenagent/host.pem"
        #certificate_key_file = "/home/me/.config/tokenagent/host.key"
        #fleet_key_file   = "/home/me/.config/tokenagent/fleet.key"   # or fleet_key_command, fleet_key_credential
        #takeover_patience = "2m"              # how long a lost attempt is left to its host, once the token has expired

        # Any OpenID Connect server. Redirect: http://127.0.0.1/callback
        #[session.work]
        #kind            = "oidc"              # endpoints are discovered from the issuer
        #issuer          = "https://id.example.com"
        #client_id       = "cli"
        #client_secret_command = ["pass", "show", "cli"]   # or client_secret_file; only if the client has a secret
        #scopes          = ["openid", "offline_access"]
        #flow            = "browser"           # browser, device, password, client_credentials, import
        #redirect_port   = 0                   # 0: any free port
        #prompt          = "consent"           # the default with offline_access; "" asks for nothing
        #ca_file         = "/etc/ssl/private-ca.pem"
        #hosts           = ["git.example.com"]   # for git, docker and others, and tokenctl curl: no other server
        #max_session_age = "30d"               # force a new login after this
        #fleet           = false                # true: all hosts of the fleet have it
        #warn_before     = "3d"                # event "expiring" this long before the end
        #allow           = [{ exe = "/usr/bin/git" }, { unit = "backup.service" }, { confirm = true }]   # who may see it

        # Google. Create an OAuth client of type "Desktop app"; its secret is not secret. No offline_access scope:
        # desktop clients always get a refresh token.
        #[session.google]
        #kind          = "oidc"
        #issuer        = "https://accounts.google.com"
        #client_id     = "000000000000-example.apps.googleusercontent.com"
        #client_secret_file = "/home/me/.config/tokenagent/google.secret"
        #scopes        = ["openid", "email", "https://mail.google.com/"]

        # Microsoft Entra ID. Register a public client; add http://127.0.0.1/callback in the application manifest.
        # Replace the tenant; "common" does not work, because its discovery document names no single issuer.
        #[session.microsoft]
        #kind      = "oidc"
        #issuer    = "https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/v2.0"
        #client_id = "11111111-1111-1111-1111-111111111111"
        #scopes    = ["openid", "offline_access", "https://graph.microsoft.com/User.Read"]

        # GitHub App with expiring user tokens. GitHub has no discovery, and the device flow needs no secret.
        #[session.github]
        #kind      = "oauth2"
        #client_id = "Iv1.0123456789abcdef"
        #flow      = "device"
        #authorization_endpoint        = "https://github.com/login/oauth/authorize"
        #token_endpoint                = "https://github.com/login/oauth/access_token"
        #device_authorization_endpoint = "https://github.com/login/device/code"

        # GitLab. Redirect: http://127.0.0.1/callback, not confidential.
        #[session.gitlab]
        #kind      = "oidc"
        #issuer    = "https://gitlab.com"
        #client_id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        #scopes    = ["openid", "read_api", "write_repository"]

        # Keycloak. A public client with the standard flow. Redirect: http://127.0.0.1/callback
        # offline_access gives a refresh token that outlives the browser session.
        #[session.keycloak]
        #kind      = "oidc"
        #issuer    = "https://sso.example.com/realms/main"
        #client_id = "cli"
        #scopes    = ["openid", "offline_access"]

        # Okta. A native application with refresh tokens. Redirect, exactly: http://127.0.0.1:8400/callback
        #[session.okta]
        #kind          = "oidc"
        #issuer        = "https://example.okta.com/oauth2/default"
        #client_id     = "0oaexample"
        #scopes        = ["openid", "offline_access"]
        #redirect_port = 8400

        # Auth0. A native application. Redirect, exactly: http://127.0.0.1:8400/callback
        # The issuer ends in a slash. For the token of an API: tokenctl get auth0 --audience https://api.example.com
        #[session.auth0]
        #kind          = "oidc"
        #issuer        = "https://example.eu.auth0.com/"
        #client_id     = "example"
        #scopes        = ["openid", "offline_access"]
        #redirect_port = 8400

        # Amazon Cognito, hosted pages. Redirect, exactly: http://127.0.0.1:8400/callback
        #[session.cognito-hosted]
        #kind          = "oidc"
        #issuer        = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example00"
        #client_id     = "example"
        #scopes        = ["openid", "email"]
        #redirect_port = 8400

        # Amazon Cognito without pages: user name and password, further prompts in the terminal.
        #[session.cognito]
        #kind         = "cognito"
        #region       = "eu-west-1"
        #user_pool_id = "eu-west-1_Example00"
        #client_id    = "example"
        #refresh_token_validity = "30d"        # as set in the app client; the pool does not report it

        # A login of a program: no user, nothing stored.
        #[session.ci]
        #kind           = "oauth2"
        #token_endpoint = "https://id.example.com/oauth2/token"
        #client_id      = "ci"
        #client_secret_file = "/home/me/.config/tokenagent/ci.secret"
        #flow           = "client_credentials"

        # A protected resource, such as an MCP server. It names its authorization server, which registers a client.
        #[session.mcp]
        #resource       = "https://mcp.example.com/mcp"
        #issuer         = "https://id.example.com"   # one of several servers; required with a client secret
        #client_metadata_url = "https://me.example.com/client.json"   # client ID at servers that accept such a document

        # A mobile back end with JSON endpoints. The preset has paths, fields and codes; each can be set here.
        #[session.phone]
        #kind        = "json"
        #preset      = "signaling"             # or "ecall"
        #base_url    = "https://api.example.com"
        #login_url   = "https://api.example.com/auth/login"     # instead of the preset's path; also refresh_url and logout_url
        #code_url    = "https://api.example.com/auth/code"      # sends a code, used instead of the password
        #carry       = ["attemptId"]           # of its response, sent with the code
        #envelope    = "data"                  # the object that contains the members of responses
        #error_code  = "error.reason"          # the member with the error code
        #members     = { deviceType = "linux" }                 # sent with every request
        #headers     = { X-Api-Key = { command = ["pass", "show", "api-key"] } }
        #keep        = ["userId", "deviceId"]  # further members, shown by status
        #fields      = { access_token = "accessToken", refresh_token = "refreshToken", expires_in = "expiresIn" }
        #refresh_on  = ["access_token_expired"]
        #logout_on   = ["refresh_token_expired", "token_revoked"]

        # A further socket that serves only tokens of some sessions: for ssh -R, a container, another user.
        #[[socket]]
        #path     = "~/tokens/host.sock"
        #sessions = ["work"]
        #scopes   = []                          # allowed there in addition to the plain token
        #audiences = []
        #mode     = "0600"                      # with users, "0660" and a group, or "0666": who else may connect
        #answer   = "http"                      # "token": each program that connects is sent the bare token

        """#
}
