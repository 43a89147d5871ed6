# SPDX-License-Identifier: MIT
"""Reads the package's Swift sources as far as its checks need: no compiler, only braces, names and keywords."""

import collections
import dataclasses
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRODUCT, DEMO, TESTS = ROOT / "Sources", ROOT / "Demo", ROOT / "Tests"

# The areas of Sources and Tests; a folder of a target is in one of them, or at the top.
AREAS = ("base", "core", "store", "servers", "processes", "network", "agent", "gateways", "commands")

# The most switches that may list an enum's cases.
MOST_SWITCHES = 3

FUNCTION = re.compile(r"\b(?:func\s+(`[^`]+`|[\w]+|[^\s\w(]+)|(init|subscript|deinit)\b[?!]?)")
TYPE = re.compile(
    r"^[ \t]*(?:@[\w.]+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated)\s+)*"
    r"(struct|class|enum|actor|protocol|extension)\s+([\w.]+)", re.M)
PROPERTY = re.compile(
    r"^[ \t]*(?:@[\w.]+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate|final|lazy|weak|unowned|nonisolated"
    r"|unsafe)(?:\([\w]+\))?\s+)*(let|var)\s+(\w+|\([^)]*\))", re.M)


# Where a comment, a string or a quoted name begins: the first that fits at a place is what begins there.
BLANK_START = re.compile(r'//|/\*|(#*)"""|(#*)"|`')
NOT_A_BREAK = re.compile(r"[^\n]")


def spans(text: str):
    """Yields (how it begins, its beginning, its end) of every comment, string and quoted name."""
    i = 0
    while match := BLANK_START.search(text, i):
        start, begun = match.start(), match[0]
        if begun == "`":
            i = end_of(text, "`", start + 1)
        elif begun == "//":
            i = text.find("\n", start)
            i = len(text) if i < 0 else i
        elif begun == "/*":
            i = end_of(text, "*/", start)
        elif match[1] is not None:
            i = end_of(text, '"""' + match[1], match.end())
        else:
            i = end_of_string(text, match.end(), match[2])
        yield begun, start, i


def blanked(text: str) -> str:
    """The source with comments and string contents as blanks, line breaks kept."""
    out, i = [], 0
    for begun, start, end in spans(text):
        out.append(text[i:start])
        if begun == "`":
            out.append("`" + NOT_A_BREAK.sub("_", text[start + 1:end - 1]) + "`")
        else:
            out.append(NOT_A_BREAK.sub(" ", text[start:end]))
        i = end
    return "".join([*out, text[i:]])


def end_of(text: str, mark: str, i: int) -> int:
    """The index after the next `mark`, or the end."""
    found = text.find(mark, i)
    return len(text) if found < 0 else found + len(mark)


STRING_MARK = re.compile(r'["\\()\n]')


def end_of_string(text: str, i: int, hashes: str) -> int:
    """The index after a one-line string literal, over its interpolations."""
    escape, depth = "\\" + hashes, 0
    while match := STRING_MARK.search(text, i):
        i, mark = match.start(), match[0]
        if mark == "\n":
            return i
        if depth == 0 and text.startswith('"' + hashes, i):
            return i + 1 + len(hashes)
        if text.startswith(escape, i):
            i += len(escape)
            if depth == 0 and text[i:i + 1] == "(":
                depth = 1
        elif depth and mark == '"':
            i = end_of_string(text, i + 1, "") - 1
        elif depth:
            depth += {"(": 1, ")": -1}.get(mark, 0)
        i += 1
    return len(text)


@functools.cache
def braces(code: str) -> dict[int, int]:
    """The index of the closing brace of each opening one that has one."""
    open_ones: list[int] = []
    pairs: dict[int, int] = {}
    for match in re.finditer(r"[{}]", code):
        if match[0] == "{":
            open_ones.append(match.start())
        elif open_ones:
            pairs[open_ones.pop()] = match.start()
    return pairs


def closing(code: str, opening: int) -> int:
    """The index of the brace that closes the one at `opening`."""
    return braces(code).get(opening, len(code))


def functions(text: str, code: str):
    """Yields (name, first line, number of lines) of every function body, the nested ones too."""
    for match in FUNCTION.finditer(code):
        before = code[code.rfind("\n", 0, match.start()) + 1:match.start()]
        if before.rstrip().endswith((".", "case")) or "\"" in before:
            continue
        opening = body_start(code, match.end())
        if opening is None:
            continue
        first = code.count("\n", 0, match.start()) + 1
        name = text[match.start(1):match.end(1)] if match[1] else match[2]
        yield name, first, code.count("\n", opening, closing(code, opening)) + 1


MARK = re.compile(r"[()\[\]{}\n]")
GOES_ON = re.compile(r"\s*(?:\{|->|where|throws|async|rethrows|\))")


def body_start(code: str, i: int) -> int | None:
    """The index of the brace that opens the body, or None for a requirement or a call."""
    depth, seen_parameters = 0, False
    for match in MARK.finditer(code, i):
        mark = match[0]
        if mark in "([":
            depth, seen_parameters = depth + 1, True
        elif mark in ")]":
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and mark == "{":
            return match.start()
        elif depth == 0 and mark == "}":
            return None
        elif depth == 0 and seen_parameters and not GOES_ON.match(code, match.start()):
            return None
    return None


@dataclasses.dataclass(eq=False)
class File:
    """A source file: its text, and the text without comments and strings. Each is read once."""

    path: pathlib.Path
    text: str
    code: str

    @functools.cached_property
    def target(self) -> str:
        return target(self.path)

    @property
    def lines(self) -> int:
        return self.text.count("\n")


def read(*folders: pathlib.Path) -> list[File]:
    """The Swift files below these folders, in the order of their paths."""
    return [source(path) for path in sorted(path for folder in folders for path in folder.rglob("*.swift"))]


@functools.cache
def source(path: pathlib.Path) -> File:
    text = path.read_text(encoding="utf-8")
    return File(path, text, blanked(text))


def target(path: pathlib.Path) -> str:
    """The target of a file or folder below Sources, Demo or Tests."""
    base = next(base for base in (PRODUCT, DEMO, TESTS) if base in path.parents)
    area, *rest = path.relative_to(base).parts
    return rest[0] if area in AREAS else area


def folders(base: pathlib.Path) -> dict[str, pathlib.Path]:
    """The folders of the targets below Sources or Tests, by target."""
    tops = [path for path in base.iterdir() if path.is_dir() and path.name not in AREAS]
    inner = [path for area in AREAS if (base / area).exists() for path in (base / area).iterdir() if path.is_dir()]
    return {path.name: path for path in tops + inner}


@dataclasses.dataclass(eq=False)
class Piece:
    """One body of a type: its declaration, or an extension of it."""

    file: File
    kind: str
    name: str  # with the types around it: Session.State
    line: int
    body: str  # without the bodies of types inside
    lines: int  # of the body, without those of types inside

    @property
    def is_declaration(self) -> bool:
        return self.kind != "extension"


@functools.cache
def pieces(file: File) -> list[Piece]:
    """Every body of a type in a file, outer ones first."""
    found: list[tuple[int, int, re.Match]] = []
    for match in TYPE.finditer(file.code):
        opening = file.code.find("{", match.end())
        if opening >= 0:
            found.append((opening, closing(file.code, opening), match))
    result = []
    for opening, end, match in found:
        around = [m[2] for o, e, m in found if o < match.start() and end <= e]
        inside = [(m.start(), e) for o, e, m in found if opening < m.start() and e < end]
        body, at = [], opening + 1
        for start, stop in inside:
            if start >= at:
                body.append(file.code[at:start])
                at = stop + 1
        body.append(file.code[at:end])
        text = "".join(body)
        line = file.code.count("\n", 0, match.start(1)) + 1
        result.append(Piece(file, match[1], ".".join([*around, match[2]]), line, text, text.count("\n")))
    return result


@functools.cache
def stored_properties(piece: Piece) -> list[str]:
    """Names of the stored properties declared in a body; enums, protocols and extensions have none."""
    if piece.kind in ("enum", "protocol", "extension"):
        return []
    names = []
    for match in PROPERTY.finditer(piece.body):
        if piece.body.count("{", 0, match.start()) != piece.body.count("}", 0, match.start()):
            continue  # a variable of a function
        if re.search(r"\bstatic\s*$", piece.body[:match.start(1)]):
            continue
        rest = piece.body[match.end():]
        head = rest[:re.search(r"\n|$", rest).start()]
        if match[1] == "var" and "=" not in head.partition("{")[0] and re.search(r"\{\s*$|\{.*\}\s*$", head):
            opening = rest.index("{")
            if not re.match(r"\{\s*(?:willSet|didSet)\b", rest[opening:]):
                continue  # computed
        names.append(match[2])
    return names


@dataclasses.dataclass
class Type:
    """A type of a target with all its bodies."""

    target: str
    name: str
    declaration: Piece | None = None
    lines: int = 0
    files: set[pathlib.Path] = dataclasses.field(default_factory=set)
    properties: list[str] = dataclasses.field(default_factory=list)


def types(files: list[File]) -> dict[tuple[str, str], Type]:
    """All types by target and name; extensions of other targets' types stand alone."""
    found: dict[tuple[str, str], Type] = {}
    for piece in (piece for file in files for piece in pieces(file)):
        entry = found.setdefault((piece.file.target, piece.name), Type(piece.file.target, piece.name))
        entry.lines += piece.lines
        entry.files.add(piece.file.path)
        if piece.is_declaration:
            entry.declaration = piece
            entry.properties += stored_properties(piece)
    return found


def shared_names(files: list[File]) -> dict[str, list[Type]]:
    """Names that several types have; private and nested types do not count."""
    homes: dict[str, list[Type]] = {}
    for entry in types(files).values():
        if not entry.declaration or "." in entry.name:
            continue
        if "private" not in entry.declaration.file.code.splitlines()[entry.declaration.line - 1]:
            homes.setdefault(entry.name, []).append(entry)
    return {name: entries for name, entries in homes.items() if len(entries) > 1}


def cases(piece: Piece) -> set[str]:
    """The cases an enum declares."""
    found: set[str] = set()
    for line in re.findall(r"^[ \t]*(?:indirect\s+)?case\s+(.+)$", piece.body, re.M):
        flat = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)?", "", line)
        found |= {re.split(r"[\s=:]", name.strip())[0].strip("`") for name in flat.split(",")}
    return {name for name in found if re.fullmatch(r"\w+", name)}


def switches(file: File):
    """Yields (line, labels) of every switch: the names of the cases it lists."""
    for match in re.finditer(r"\bswitch\b", file.code):
        opening = file.code.find("{", match.end())
        if opening < 0:
            continue
        body = file.code[opening + 1:closing(file.code, opening)]
        labels: set[str] = set()
        depth = 0
        for part in re.finditer(r"[{}]|\bcase\b([^:{}]*)", body):
            if part[0] == "{":
                depth += 1
            elif part[0] == "}":
                depth -= 1
            elif depth == 0:
                labels |= set(re.findall(r"(?<![\w)\]])\.(\w+)", part[1]))
        if labels:
            yield file.code.count("\n", 0, match.start()) + 1, labels


def switched(files: list[File]) -> dict[str, list[str]]:
    """The switches that list most of an enum's cases, by the enum's name; of several that fit, the smallest counts."""
    enums: dict[str, set[str]] = {}
    for piece in (piece for file in files for piece in pieces(file)):
        if piece.kind == "enum" and len(names := cases(piece)) >= 3:
            enums[f"{piece.file.target}.{piece.name}"] = names
    found: dict[str, list[str]] = collections.defaultdict(list)
    for file in files:
        for line, labels in switches(file):
            fitting = [name for name, names in enums.items() if labels <= names and 2 * len(labels) > len(names)]
            if fitting:
                best = min(fitting, key=lambda name: (len(enums[name]), not name.startswith(file.target)))
                found[best].append(f"{file.path.relative_to(ROOT)}:{line}")
    return found
