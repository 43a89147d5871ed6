# SPDX-License-Identifier: MIT
"""The rules of six kinds of authorization servers, and a record of all they did; pure, with the time as an argument."""

import dataclasses
import secrets

# What a server does with a refresh token that was used before, for `grace` seconds and after.
HABITS = ("strict", "norevoke", "gsame", "gsib", "glast", "keeps")
# Those that forgive a host's death: the token can be sent again.
FORGIVING = ("gsame", "gsib", "glast", "keeps")
GRACE = 30.0


@dataclasses.dataclass
class Token:
    """A refresh token; of one login, the family."""

    text: str
    family: int
    generation: int
    used: float | None = None
    successors: list["Token"] = dataclasses.field(default_factory=list)
    is_live: bool = True


@dataclasses.dataclass
class Family:
    """One login."""

    number: int
    session: str
    habit: str
    tokens: list[Token] = dataclasses.field(default_factory=list)
    is_revoked: bool = False


class Server:
    """All habits at once; a session's name begins with its habit."""

    def __init__(self) -> None:
        self.families: list[Family] = []
        self.tokens: dict[str, Token] = {}

    def log_in(self, session: str) -> tuple[Family, Token]:
        family = Family(len(self.families), session, session.split("-")[0])
        self.families.append(family)
        return family, self._issue(family, 0)

    def _issue(self, family: Family, generation: int) -> Token:
        token = Token(f"rt-{secrets.token_urlsafe(24)}", family.number, generation)
        family.tokens.append(token)
        self.tokens[token.text] = token
        return token

    def refresh(self, text: str, now: float) -> tuple[str, Token | None]:
        """What came of it, `rotated`, `repeated`, `kept`, `refused` or `revoked`, and the token that is good next."""
        token = self.tokens.get(text)
        family = self.families[token.family] if token else None
        if token is None or family.is_revoked or not token.is_live:
            return "refused", None
        if family.habit == "keeps":
            return "kept", token
        if token.used is None:
            token.used = now
            successor = self._issue(family, token.generation + 1)
            token.successors.append(successor)
            return "rotated", successor
        return self._reuse(family, token, now)

    def _reuse(self, family: Family, token: Token, now: float) -> tuple[str, Token | None]:
        if family.habit == "norevoke":
            return "refused", None
        if family.habit == "strict" or now - token.used > GRACE:
            family.is_revoked = True
            return "revoked", None
        if family.habit == "gsame":
            return "repeated", token.successors[0]
        successor = self._issue(family, token.generation + 1)
        if family.habit == "glast":
            for former in token.successors:
                former.is_live = False
        token.successors.append(successor)
        return "repeated", successor

    def revoke(self, text: str) -> Family | None:
        """RFC 7009: the whole login ends with its token."""
        token = self.tokens.get(text)
        if token is None:
            return None
        family = self.families[token.family]
        family.is_revoked = True
        return family
