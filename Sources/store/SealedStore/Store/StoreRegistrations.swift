// SPDX-License-Identifier: MIT

import TokenCore

/// The clients registered at servers.
extension SessionStore {
    /// Returns all registrations, oldest first; none while the store is locked.
    package func registrations() -> [ClientRegistration] {
        work.withLock { work in
            loadRegistrations(&work)
            return work.registrations ?? []
        }
    }

    /// Adds a registration durably; its secrets are erased if that fails.
    ///
    /// - Throws: ``StorageFailure`` if the store is locked, or the file cannot be read or written.
    package func keep(_ registration: ClientRegistration) throws(StorageFailure) {
        do throws(StorageFailure) {
            try change { $0 + [registration] }
        } catch {
            eraseSecrets(of: registration)
            throw error
        }
    }

    /// Removes a registration and erases its secrets.
    ///
    /// - Throws: ``StorageFailure`` if the store is locked, or the file cannot be read or written.
    package func drop(_ registration: ClientRegistration) throws(StorageFailure) {
        try change { $0.filter { $0 != registration } }
        eraseSecrets(of: registration)
    }

    private func eraseSecrets(of registration: ClientRegistration) {
        for secret in registration.secrets { memory.erase(secret) }
    }

    private func change(
        _ next: ([ClientRegistration]) -> [ClientRegistration]
    ) throws(StorageFailure) {
        try work.withLock { work throws(StorageFailure) in
            loadRegistrations(&work)
            guard let ring = work.ledger?.ring else { throw StorageFailure(message: "the store is locked") }
            guard let present = work.registrations else {
                let path = directory.root.path(of: RegistrationFile.name)
                throw StorageFailure(message: "cannot read \(path)")
            }
            let changed = next(present)
            try write(changed, under: ring)
            work.registrations = changed
        }
    }

    /// Reads the file, once after each unlock; a file that cannot be used is renamed, as records are.
    private func loadRegistrations(_ work: inout MutableState) {
        guard work.registrations == nil, let ring = work.ledger?.ring else { return }
        do throws(StoreFileError) {
            let bytes = try directory.root.contents(of: RegistrationFile.name, limit: RegistrationFile.limit)
            do throws(RecordError) {
                work.registrations =
                    try RegistrationFile.open(bytes, secrets: memory, under: ring).registrations
            } catch {
                try RecordFiles.moveAside(RegistrationFile.name, in: directory.root)
                work.registrations = []
            }
        } catch {
            // A read error may be temporary, so do not overwrite the file.
            if error == .missing { work.registrations = [] }
        }
    }

    private func write(
        _ registrations: [ClientRegistration],
        under ring: KeyRing
    ) throws(StorageFailure) {
        let bytes = try RegistrationFile.sealed(registrations, secrets: memory, under: ring)
        do throws(StoreFileError) {
            try directory.root.replace(RegistrationFile.name, with: bytes)
        } catch {
            throw StorageFailure(
                message: "cannot write \(directory.root.path(of: RegistrationFile.name)): \(error)"
            )
        }
    }

    /// Moves the file to the current key.
    ///
    /// - Returns: `false` if the file still requires an older key.
    func resealRegistrations(_ work: inout MutableState) -> Bool {
        guard directory.root.contains(RegistrationFile.name) else { return true }
        loadRegistrations(&work)
        guard let registrations = work.registrations, let ring = work.ledger?.ring else { return false }
        do throws(StorageFailure) {
            try write(registrations, under: ring)
            return true
        } catch {
            return false
        }
    }
}
