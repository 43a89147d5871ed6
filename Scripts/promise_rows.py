# SPDX-License-Identifier: MIT
"""The rows of Tests/promises.toml, and their sections of THREAT_MODEL.md."""

import dataclasses
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "Tests/promises.toml"
DOCUMENT = ROOT / "THREAT_MODEL.md"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of table, its section of THREAT_MODEL.md, and the numbers it has: they never move."""

    table: str
    prefix: str
    plural: str
    numbers: frozenset[int]
    keys: tuple[str, str]
    note: str
    heading: str
    preface: str


KINDS = [
    Kind(
        # Readers may have met the numbers elsewhere; those left out were never given.
        "promise", "", "promises",
        (frozenset(range(1, 143)) - {12, 20, 36, 61, 70, 71, 84, 85, 116, 124, 125, 130}) | frozenset(range(160, 163)),
        ("promise", "figure"), "for ",
        "## Promises and their tests",
        """Every promise has a number that stays, and is held by the tests and scripts named here. `make test-full` runs
them and prints one line for each. This list is written by `Scripts/promises --document` from
`Tests/promises.toml`, which also says when a promise counts as kept."""),
    Kind(
        "requirement", "O", "requirements", frozenset(range(1, 61)), ("what", "source"), "",
        "## OAuth requirements and their tests",
        """What the standards demand of an OAuth or OpenID Connect client, and the tests that hold it, most of them with a
server that breaks the rules on purpose. This list is written and its tests are run like those above."""),
]


@dataclasses.dataclass(frozen=True)
class Row:
    kind: Kind
    number: int
    table: dict

    @property
    def label(self) -> str:
        return f"{self.kind.prefix}{self.number}"

    @property
    def what(self) -> str:
        return self.table[self.kind.keys[0]]

    def names(self, key: str) -> list[str]:
        return self.table.get(key, [])


def read() -> tuple[list[Row], dict[str, dict]]:
    """All rows in the order of their numbers, and the scripts."""
    with open(DATA, "rb") as file:
        data = tomllib.load(file)
    rows = [Row(kind, int(name.removeprefix(kind.prefix)), table)
            for kind in KINDS for name, table in data[kind.table].items()]
    return sorted(rows, key=lambda row: (KINDS.index(row.kind), row.number)), data["script"]


def chapter(kind: Kind, rows: list[Row], scripts: dict[str, dict]) -> str:
    """The section of THREAT_MODEL.md."""
    lines = [kind.heading, "", kind.preface, "", f"| | {kind.table.capitalize()} | Held by |", "| --- | --- | --- |"]
    for row in (row for row in rows if row.kind == kind):
        by_module: dict[str, list[str]] = {}
        for name in row.names("tests"):
            module, sentence = name.split(": ", 1)
            by_module.setdefault(module, []).append(sentence)
        held = [f"{module}: {'; '.join(sentences)}" for module, sentences in by_module.items()]
        for name in row.names("scripts"):
            command = scripts[name]["command"].format(debug="", release="")
            held.append(" ".join(f"`{word}`" for word in command.split() if word.startswith("Scripts/")))
        if row.table.get("lacks"):
            held.append(f"*lacking: {row.table['lacks']}*")
        source = f" ({row.table['source']})" if "source" in row.table else ""
        lines.append(f"| {row.label} | {row.what}{source} | {'. '.join(held)} |")
    return "\n".join(lines) + "\n"


def documented(text: str, kind: Kind, section: str) -> str:
    """`text` with `section` in the place of the one of this heading, or at its end."""
    start = text.find(kind.heading)
    if start < 0:
        return text.rstrip("\n") + "\n\n" + section
    end = text.find("\n## ", start + 1)
    return text[:start] + section + (text[end:] if end >= 0 else "")


def document() -> str:
    """THREAT_MODEL.md as it should be."""
    rows, scripts = read()
    text = DOCUMENT.read_text(encoding="utf-8")
    for kind in KINDS:
        text = documented(text, kind, chapter(kind, rows, scripts))
    return text
