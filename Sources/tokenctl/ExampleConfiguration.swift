// SPDX-License-Identifier: MIT

/// What `tokenctl config example` prints: every key, and a session per well-known issuer.
enum ExampleConfiguration {
    static let text = """
        # tokenagent configuration: ~/.config/tokenagent/config.toml
        # Check it with: tokenctl config check
        # Durations are strings: "90s", "5m", "30d". Remove the # of what you want to use.

        [agent]
        # refresh_before = "5m"     # refresh this long before expiry, at most a third of the token's lifetime
        # min_validity   = "30s"    # a get never returns a token with less left, at most half of the lifetime
        # get_timeout    = "30s"    # longest a get waits for a refresh

        [hooks]                     # argv arrays, never a shell line; no token is passed
        # login_required = ["notify-send", "tokenagent", "a login is needed"]
        # event          = ["logger", "-t", "tokenagent"]

        # [session.work]                          # then: tokenctl login work; tokenctl get work
        # kind      = "oidc"                      # endpoints are discovered from the issuer
        # issuer    = "https://id.example.com"
        # client_id = "cli"
        # client_secret_command = ["pass", "show", "cli"]   # or client_secret_file = "/path"
        # scopes    = ["openid", "offline_access"]
        # flow      = "browser"                   # browser, device, password, client_credentials, import
        # redirect_port   = 0                     # 0: any free port of 127.0.0.1
        # ca_file         = "/etc/ssl/private-ca.pem"
        # max_session_age = "30d"                 # force a new login after this
        # warn_before     = "3d"                  # say so this long before a login is needed
        # allow = [{ exe = "/usr/bin/git" }]      # who may have its tokens; empty: every program of yours

        # [session.google]                        # Google; register a "Desktop app" client
        # kind      = "oidc"
        # issuer    = "https://accounts.google.com"
        # client_id = "NUMBER-NAME.apps.googleusercontent.com"
        # client_secret_file = "/home/me/.config/tokenagent/google-client-secret"
        # scopes    = ["openid", "email", "https://mail.google.com/"]

        # [session.entra]                         # Microsoft Entra ID; a public client with a loopback redirect
        # kind      = "oidc"
        # issuer    = "https://login.microsoftonline.com/TENANT-ID/v2.0"
        # client_id = "APPLICATION-ID"
        # scopes    = ["openid", "offline_access", "https://graph.microsoft.com/User.Read"]

        # [session.github]                        # GitHub has no discovery; device flow must be enabled for the app
        # kind      = "oauth2"
        # client_id = "Iv1.0123456789abcdef"
        # authorization_endpoint        = "https://github.com/login/oauth/authorize"
        # token_endpoint                = "https://github.com/login/oauth/access_token"
        # device_authorization_endpoint = "https://github.com/login/device/code"
        # scopes    = ["repo", "read:org"]
        # flow      = "device"

        # [session.gitlab]                        # GitLab.com, or your own instance's address
        # kind      = "oidc"
        # issuer    = "https://gitlab.com"
        # client_id = "APPLICATION-ID"
        # scopes    = ["openid", "read_api"]

        # [session.keycloak]
        # kind      = "oidc"
        # issuer    = "https://sso.example.com/realms/REALM"
        # client_id = "cli"
        # scopes    = ["openid", "offline_access"]

        # [session.okta]                          # a native application with refresh tokens allowed
        # kind      = "oidc"
        # issuer    = "https://ORG.okta.com/oauth2/default"
        # client_id = "CLIENT-ID"
        # scopes    = ["openid", "offline_access"]

        # [session.auth0]                         # a native application with rotation enabled
        # kind      = "oidc"
        # issuer    = "https://TENANT.eu.auth0.com/"
        # client_id = "CLIENT-ID"
        # scopes    = ["openid", "offline_access"]

        # [session.phone]                         # JSON refresh endpoints, as mobile back ends have them
        # kind        = "json"
        # preset      = "signaling"               # or "ecall"
        # login_url   = "https://api.example.com/auth/login"
        # refresh_url = "https://api.example.com/auth/refresh"
        # logout_url  = "https://api.example.com/auth/logout"

        # [session.aws]                           # AWS Cognito user pools
        # kind         = "cognito"
        # region       = "eu-west-1"
        # user_pool_id = "eu-west-1_abc"
        # client_id    = "CLIENT-ID"
        """
}
