// SPDX-License-Identifier: MIT

/// The desktop notification for a login that is required now or soon.
///
/// It is the only command that is not from the configuration.
package enum DesktopNotice {
    /// The variable with the ID of the session's previous notification, which the new one replaces.
    package static let formerNotice = "TOKENAGENT_NOTICE"

    /// The words of the command; event and session are in the environment, as for every hook.
    ///
    /// The command prints the ID of the notification if `notify-send` supports it (libnotify 0.7.10, of
    /// 2022). After a login, a notification that disappears by itself replaces the previous one.
    /// If the session logs in through another program, the notification points to `tokenctl status`, which
    /// explains how. A session's name contains no character with a meaning in a shell or in the markup of a
    /// notification.
    package static let command = ["sh", "-c", script]

    private static let script = """
        former="${TOKENAGENT_NOTICE:+--replace-id=$TOKENAGENT_NOTICE}"
        settled() { exec notify-send --app-name=tokenagent $former --expire-time=3000 -- "$1"; }
        case "$TOKENAGENT_EVENT" in
        logged_in) settled "Logged in to $TOKENAGENT_SESSION." ;;
        logged_out) settled "Logged out of $TOKENAGENT_SESSION." ;;
        expiring) text="The login of $TOKENAGENT_SESSION expires soon." ;;
        *) text="$TOKENAGENT_SESSION needs a login." ;;
        esac
        case "$TOKENAGENT_REASON" in
        source_ended) command=status ;;
        *) command=login ;;
        esac
        remedy="tokenctl $command $TOKENAGENT_SESSION"
        notify-send --app-name=tokenagent --print-id $former -- "$text" "$remedy" 2>/dev/null ||
            exec notify-send --app-name=tokenagent -- "$text" "$remedy"
        """
}
