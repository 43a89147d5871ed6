// SPDX-License-Identifier: MIT

/// The notice at a desktop that a login is needed, or will be soon: the one command that no configuration names.
package enum DesktopNotice {
    /// Its argv; event and session arrive in the environment, as for every hook.
    ///
    /// Where the login is another program's, the status of the session says how it is done.
    /// A session's name holds no character that means something to a shell or to the markup of a notice.
    package static let command = ["sh", "-c", script]

    private static let script = """
        case "$TOKENAGENT_EVENT" in
        expiring) text="The login of $TOKENAGENT_SESSION ends soon." ;;
        *) text="$TOKENAGENT_SESSION needs a login." ;;
        esac
        case "$TOKENAGENT_REASON" in
        source_ended) command=status ;;
        *) command=login ;;
        esac
        exec notify-send --app-name=tokenagent -- "$text" "tokenctl $command $TOKENAGENT_SESSION"
        """
}
