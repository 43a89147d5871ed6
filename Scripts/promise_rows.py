# SPDX-License-Identifier: MIT
"""The rows of Tests/promises.toml with the tests that hold them, and docs/promises.md."""

import collections
import dataclasses
import pathlib
import re
import tomllib

from swift_sources import TESTS, target

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "Tests/promises.toml"
DOCUMENT = ROOT / "docs/promises.md"
HEAD = """# Promises

What the [threat model](../THREAT_MODEL.md) says holds because these tests and scripts pass. Every row has a number that stays.
`make test-full` runs them and prints one line for each. `Scripts/promises --document` writes this page from
`Tests/promises.toml`, which also says when a row counts as kept, and from the tests, which carry the numbers of their rows.
"""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of table, its section of docs/promises.md, and the numbers of its rows, which never change."""

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
        # Other texts may name the numbers, so they stay; those left out were never given.
        "promise", "", "promises",
        (frozenset(range(1, 143)) - {12, 20, 36, 61, 70, 71, 84, 85, 116, 124, 125, 130}) | frozenset({160, 161, 162, 180, 181, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 204, 205, 210, 211, 212, 213, 220, 221, 222, 223, 230, 231, 232, 233, 240, 241, 242, 243, 250, 251, 252, 253, 254}) | frozenset(range(260, 273)),
        ("promise", "figure"), "for ",
        "## To users",
        "What users are promised.",
    ),
    Kind(
        "requirement", "O", "requirements", frozenset(range(1, 61)), ("what", "source"), "",
        "## OAuth requirements",
        "What the standards demand of an OAuth or OpenID Connect client; most of the tests have a server that breaks the rules on purpose.",
    ),
]


@dataclasses.dataclass(frozen=True)
class Row:
    kind: Kind
    number: int
    table: dict
    # "MODULE: SENTENCE" of each test that has to pass.
    tests: list[str]

    @property
    def label(self) -> str:
        return f"{self.kind.prefix}{self.number}"

    @property
    def what(self) -> str:
        return self.table[self.kind.keys[0]]

    @property
    def scripts(self) -> list[str]:
        return self.table.get("scripts", [])


# The trait of a test, and the name of a test.
HOLDS = re.compile(r'\.holds\(\s*((?:"O?\d+",?\s*)+)\)')
TEST = re.compile(r"\bfunc `([^`]+)`\s*\(")


def existing_tests() -> set[str]:
    """All tests, as "MODULE: SENTENCE"."""
    return {f"{target(path)}: {sentence}" for path in TESTS.rglob("*.swift")
            for sentence in TEST.findall(path.read_text(encoding="utf-8"))}


def tests_by_row() -> dict[str, list[str]]:
    """The tests that carry the number of each row, as "MODULE: SENTENCE"."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for path in sorted(TESTS.rglob("*.swift"), key=lambda path: (target(path), path)):
        text = path.read_text(encoding="utf-8")
        for match in HOLDS.finditer(text):
            sentence = TEST.search(text, match.end())
            if sentence is None:
                raise SystemExit(f"{path.relative_to(ROOT)}: no test after {match[0]}")
            for label in re.findall(r"\w+", match[1]):
                found[label].append(f"{target(path)}: {sentence[1]}")
    return found


def read() -> tuple[list[Row], dict[str, dict]]:
    """All rows in the order of their numbers, and the scripts."""
    with open(DATA, "rb") as file:
        data = tomllib.load(file)
    tests = tests_by_row()
    rows = [Row(kind, int(name.removeprefix(kind.prefix)), table, list(dict.fromkeys(tests[name])))
            for kind in KINDS for name, table in data[kind.table].items()]
    return sorted(rows, key=lambda row: (KINDS.index(row.kind), row.number)), data["script"]


def chapter(kind: Kind, rows: list[Row], scripts: dict[str, dict]) -> str:
    """The section of one kind in docs/promises.md."""
    lines = [kind.heading, "", kind.preface, "", f"| | {kind.table.capitalize()} | Held by |", "| --- | --- | --- |"]
    for row in (row for row in rows if row.kind == kind):
        by_module: dict[str, list[str]] = {}
        for name in row.tests:
            module, sentence = name.split(": ", 1)
            by_module.setdefault(module, []).append(sentence)
        held = [f"{module}: {'; '.join(sentences)}" for module, sentences in by_module.items()]
        for name in row.scripts:
            command = scripts[name]["command"].format(debug="", release="")
            held.append(" ".join(f"`{word}`" for word in command.split() if word.startswith("Scripts/")))
        if row.table.get("lacks"):
            held.append(f"*lacking: {row.table['lacks']}*")
        source = f" ({row.table['source']})" if "source" in row.table else ""
        lines.append(f"| {row.label} | {row.what}{source} | {'. '.join(held)} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """docs/promises.md as it should be."""
    rows, scripts = read()
    return "\n".join([HEAD, *(chapter(kind, rows, scripts) for kind in KINDS)])
