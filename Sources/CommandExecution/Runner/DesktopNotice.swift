// SPDX-License-Identifier: MIT

/// The notice at a desktop that a login is needed, or will be soon: the one command that no configuration names.
package enum DesktopNotice {
    /// The variable with the number of the session's former notice, which the new one replaces.
    package static let formerNotice = "TOKENAGENT_NOTICE"

    /// Its argv; event and session arrive in the environment, as for every hook.
    ///
    /// It prints the number of the notice, where `notify-send` knows it (libnotify 0.7.10, of 2022). After a login the
    /// former notice is replaced by one that goes by itself.
    ///
    /// Where the login is another program's, the status of the session says how it is done.
    /// A session's name holds no character that means something to a shell or to the markup of a notice.
    package static let command = ["sh", "-c", script]

    private static let script = """
        former="${TOKENAGENT_NOTICE:+--replace-id=$TOKENAGENT_NOTICE}"
        settled() { exec notify-send --app-name=tokenagent $former --expire-time=3000 -- "$1"; }
        case "$TOKENAGENT_EVENT" in
        logged_in) settled "Logged in to $TOKENAGENT_SESSION." ;;
        logged_out) settled "Logged out of $TOKENAGENT_SESSION." ;;
        expiring) text="The login of $TOKENAGENT_SESSION ends soon." ;;
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
