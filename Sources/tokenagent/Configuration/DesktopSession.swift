// SPDX-License-Identifier: MIT

import Glibc

/// The desktop of the user who started the agent.
struct DesktopSession: Sendable {
    /// Creates a desktop, or `nil` if there is no display, no session bus, or no `notify-send` to show a
    /// notice with.
    init?(_ environment: [String: String]) {
        func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        guard isSet("WAYLAND_DISPLAY") || isSet("DISPLAY") else { return nil }
        let bus = environment["XDG_RUNTIME_DIR"].map { $0 + "/bus" }
        guard isSet("DBUS_SESSION_BUS_ADDRESS") || bus.map({ unsafe access($0, F_OK) == 0 }) == true else {
            return nil
        }
        let directories = (environment["PATH"] ?? "").split(separator: ":")
        guard directories.contains(where: { unsafe access("\($0)/notify-send", X_OK) == 0 }) else {
            return nil
        }
    }
}
