// SPDX-License-Identifier: MIT

extension Scene {
    /// A shell script that logs in by pasting.
    ///
    /// - Parameter answer: what to do with `$url`, the address for the browser; writes what is pasted to descriptor 9.
    ///   It has to be the same run: a pasted answer must carry the state of its own login.
    /// - Returns: the script; its status is that of the login, or from 90 on where it went wrong itself.
    static func pastedLogin(_ answer: String) -> String {
        """
        mkfifo "$HOME/pasted"
        tokenctl login work --paste --no-browser <"$HOME/pasted" >"$HOME/shown" 2>&1 &
        login=$!
        exec 9>"$HOME/pasted"
        tries=0
        while ! grep -q '/authorize?' "$HOME/shown" 2>/dev/null; do
            tries=$((tries + 1)); [ $tries -lt 2000 ] || exit 99
            kill -0 $login || { cat "$HOME/shown"; exit 98; }
        done
        url=$(grep -o 'http[^ ]*/authorize?[^ "]*' "$HOME/shown" | head -n 1)
        \(answer)
        wait $login
        """
    }
}
