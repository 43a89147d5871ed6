# SPDX-License-Identifier: MIT
"""The nonces of the sealed records on disk, and those that were used for more than one record."""

import hashlib
import pathlib
import struct

MAGIC = b"TKAREC\0\1"
# Bytes before the nonce, of the nonce, and of the tag, which follows the ciphertext. The last four bytes before the
# nonce are the length of the padded plaintext.
HEADER, NONCE, TAG = 59, 24, 16


class NonceLedger:
    def __init__(self) -> None:
        self.seen: dict[bytes, bytes] = {}
        self.repeated: set[bytes] = set()

    def look(self, directory: pathlib.Path) -> None:
        """Enters every record below the directory, whole or torn."""
        for file in directory.rglob("*"):
            try:
                content = file.read_bytes() if file.is_file() else b""
            except FileNotFoundError:  # replaced meanwhile
                continue
            place = content.find(MAGIC)
            while place >= 0:
                self.enter(content[place:])
                place = content.find(MAGIC, place + 1)

    def enter(self, record: bytes) -> None:
        if len(record) < HEADER + NONCE:
            return
        (length,) = struct.unpack("<I", record[HEADER - 4:HEADER])
        nonce = record[HEADER:HEADER + NONCE]
        digest = hashlib.sha256(record[:HEADER + NONCE + length + TAG]).digest()
        if self.seen.setdefault(nonce, digest) != digest:
            self.repeated.add(nonce)
