# SPDX-License-Identifier: Apache-2.0
"""Comments of public interfaces in C, Java and Swift, with the declarations below them.

One scanner reads all three. C headers are shown as they are written, structs with the comments of their
fields; of Java and Swift only what is public, without bodies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_LINK: Final = re.compile(r"docs/((?:tutorial|guides|reference|internals)/[\w-]+\.md)")
_WORDS: Final = {
    "java": re.compile(r"^(?:@\w+(?:\([^)]*\))? )*(public|protected)\b"),
    "swift": re.compile(r"^(?:@\w+(?:\([^)]*\))? )*(?:public|open)\b"),
}
_TYPE: Final = re.compile(
    r"\b(class|interface|enum|struct|protocol|extension|@interface)\s+([\w.]+)"
)
# Guards, includes and what only the compiler reads.
_GUARD: Final = re.compile(
    r"#(?:if|endif|else|elif|include|undef)|extern \"C\"|\}$|\}  // namespace|namespace \w+ \{|SAMARA_HPP_"
)
_NAME: Final = {
    "c": re.compile(
        r"^#define (\w+)|\(\*(samara_\w+)\)\(|\b(samara_\w+)\(|\b(samara_\w+) *;$"
        r"|^(?:template <.*>\s)?(?:typedef )?(?:struct|enum|class) (\w+)[^;{]*\{",
        re.M,
    ),
    "java": re.compile(r"(\w+)\s*(?:\(|=|;|$)"),
    "swift": re.compile(
        r"\b(?:func|var|let|case|typealias)\s+(`?[\w~=<>!+]+`?)|\b(init|subscript)\b"
    ),
}


@dataclass
class Item:
    """A declaration, its comment, and what lies inside it; a heading has no declaration."""

    name: str
    comment: list[str]
    code: list[str]
    inside: list[Item] = field(default_factory=list)


def escaped(text: str) -> str:
    """Mentions of pages become links; letters that Markdown would take for its own are escaped."""
    parts = re.split(r"(`[^`]+`)", text)
    for at in range(0, len(parts), 2):
        part = re.sub(r"([\\*<>\[\]_$~|#])", r"\\\1", parts[at])
        part = part.replace(r"\[\`", "[`")
        parts[at] = _LINK.sub(
            lambda m: f"[{m[1]}](../../{m[1]})",
            re.sub(r"(docs/\S+)", lambda m: m[1].replace("\\", ""), part),
        )
    return "".join(parts)


def markdown(lines: list[str], language: str) -> str:
    """A comment as Markdown: paragraphs, lists, and examples, which are indented."""
    out: list[str] = []
    code: list[str] = []
    listed = False  # within a list, whose lines are indented too

    def flush() -> None:
        while code and not code[-1].strip():
            code.pop()
        if code:
            least = min(len(line) - len(line.lstrip()) for line in code if line.strip())
            out.extend(["", f"```{language}", *(line[least:] for line in code), "```", ""])
        code.clear()

    for line in lines:
        mark = re.match(r"^ *(?:-|\d+\.) +", line)
        if mark:
            flush()
            if not listed:
                out.append("")
            listed = True
            out.append(escaped(line.strip()).replace("\\-", "-", 1))
        elif not line.strip():
            if code:
                code.append("")
            else:
                out.append("")
        elif listed and line.startswith("   "):
            out.append("  " + escaped(line.strip()))
        elif line.startswith("  "):
            code.append(line)
        else:
            flush()
            listed = False
            out.append(escaped(line))
    flush()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def _java_comment(lines: list[str]) -> list[str]:
    examples: list[str] = []

    def kept(match: re.Match[str]) -> str:
        examples.append("\n".join(f"    {line}" for line in match[1].strip("\n").splitlines()))
        return f"\n\0{len(examples) - 1}\0\n"

    text = re.sub(r"<pre>\s*?\{@code[ \n](.*?)\}</pre>", kept, "\n".join(lines), flags=re.DOTALL)
    text = re.sub(
        r"\{@link\s+([^}]*?)\}",
        lambda m: f"`{m[1].split()[-1].replace('#', '.').lstrip('.')}`",
        text,
    )
    text = re.sub(r"\{@code\s+([^}]*?)\}", lambda m: f"`{m[1]}`", text)
    text = re.sub(r"</?p>|<br>", "\n", text)
    text = re.sub(r"</?(?:ul|b|i)>", "", text).replace("</li>", "")
    text = re.sub(r"<li>\s*", "- ", text)
    text = re.sub(
        r"^@(param|throws|return)\s+(.*)", lambda m: f"- `{m[1]}` {m[2]}", text, flags=re.M
    )
    text = re.sub(r"\0(\d+)\0", lambda m: examples[int(m[1])], text)
    return text.splitlines()


def _block(lines: list[str], at: int) -> tuple[list[str], int]:
    """The text of the comment that begins at a line, without its marks; the line after it."""
    found: list[str] = []
    if lines[at].lstrip().startswith("//"):
        mark = "///" if lines[at].lstrip().startswith("///") else "//"
        while at < len(lines) and lines[at].lstrip().startswith(mark):
            found.append(re.sub(r"^\s*/{2,3} ?", "", lines[at]))
            at += 1
        return found, at
    while True:
        line = lines[at]
        end = "*/" in line
        line = (
            re.sub(r"\s*\*/.*", "", re.sub(r"^\s*(?:/\*+|\*(?!/)) ?", "", line))
            if line.strip() != "*/"
            else ""
        )
        found.append(line)
        at += 1
        if end or at >= len(lines):
            return found, at


def _depth(text: str) -> int:
    text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*|/\*.*?\*/', "", text)
    return text.count("{") - text.count("}")


# ---- C: items are runs of lines below a comment ----


def _name_of(code: list[str]) -> str:
    text = "\n".join(code)
    names = [next(filter(None, m.groups())) for m in _NAME["c"].finditer(text)]
    names = [n for n in dict.fromkeys(names) if n not in ("SAMARA_API", "const", "void", "close")]
    return names[0] if names else ""


def c_header(path: Path) -> tuple[list[str], list[Item]]:
    """The comment that opens a header, and its items and headings in the header's order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    intro, at = _block(lines, 1)
    items: list[Item] = []
    comment: list[str] = []
    while at < len(lines):
        line = lines[at]
        if not line.strip() or _GUARD.match(line):
            comment = comment if line.strip() else []
            at += 1
        elif line.startswith(("/*", "//")):
            comment, at = _block(lines, at)
            heading = re.match(r"(?:={4}|-{4}) (.*?)[ =-]*$", comment[0])
            if heading:
                items.append(Item(heading[1], [], []))
                comment = []
        else:
            code = []
            depth = 0
            while at < len(lines) and (
                depth > 0 or (lines[at].strip() and not lines[at].startswith("/*"))
            ):
                depth += _depth(lines[at])
                code.append(lines[at])
                at += 1
            text = _plain(code)
            if comment or re.match(r"(?:typedef )?struct \w+ \{", text[0]):
                items.append(Item(_name_of(text), comment, text))
            comment = []
    return intro, items


def _plain(code: list[str]) -> list[str]:
    """Without the mark of exported functions, whose later lines move to the left with it."""
    out = []
    marked = False
    for line in code:
        if line.startswith("SAMARA_API "):
            marked, line = True, line.removeprefix("SAMARA_API ")
        elif marked and line.startswith(" " * 12):
            line = line[11:]
        else:
            marked = False
        out.append(line)
    return out


# ---- Java and Swift: public declarations, nested ----


def _signature(lines: list[str], at: int) -> tuple[str, int]:
    """The declaration that begins at a line, up to its body; the line of its last character."""
    text = ""
    while True:
        text = f"{text} {lines[at].strip()}".strip()
        bare = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
        if bare.count("(") <= bare.count(")") and re.search(r"[{;]|,$|\w\)?$|[?>\]`]$|=.*$", bare):
            return text, at
        at += 1


def _public(text: str, language: str, outer: str) -> bool:
    if _WORDS[language].match(text):
        return True
    if language == "swift" and text.startswith("extension "):
        return True
    if language == "java":
        return outer in ("interface", "@interface") or (
            outer == "enum" and bool(re.match(r"[A-Z][A-Z0-9_]*\s*[(,;{]", text))
        )
    return outer in ("protocol", "enum") and bool(re.match(r"(?:case|func|var|init)\b", text))


def declarations(path: Path, language: str) -> list[Item]:
    """The public types of a source with their public members, and the comments of both."""
    lines = path.read_text(encoding="utf-8").splitlines()
    top = Item("", [], [])
    open_types: list[tuple[int, Item, str]] = [(0, top, "")]  # depth inside, item, kind
    comment: list[str] = []
    depth = at = 0
    while at < len(lines):
        bare = lines[at].strip()
        if bare.startswith(("/**", "///")):
            comment, at = _block(lines, at)
            continue
        if not bare or bare.startswith(("//", "/*")):
            if bare.startswith("/*"):
                _, at = _block(lines, at)
            else:
                at += 1
            comment = []
            continue
        inside_depth, outer, kind = open_types[-1]
        if depth == inside_depth and re.match(r"@\w+(\([^)]*\))?$", bare):
            at += 1  # an annotation on a line of its own
            continue
        if depth == inside_depth and _public(bare, language, kind):
            text, last = _signature(lines, at)
            shown = _shown(text, language)
            declared = _TYPE.search(re.split(r"[{(]", shown)[0])
            item = Item(declared[2] if declared else _member(shown, language), comment, [shown])
            outer.inside.append(item)
            before = depth
            depth += sum(_depth(line) for line in lines[at : last + 1])
            if declared and depth > before:
                open_types.append((depth, item, declared[1]))
            at = last + 1
        else:
            depth += _depth(lines[at])
            at += 1
        comment = []
        while len(open_types) > 1 and depth < open_types[-1][0]:
            open_types.pop()
    return top.inside


def _shown(text: str, language: str) -> str:
    text = re.sub(
        r"@(?:NonNull|Override|inlinable|inline\(__always\)|discardableResult|RequiresApi\([^)]*\)) ?",
        "",
        text,
    )
    if language == "java":
        text = re.split(r"\s*\{|;| = ", text)[0].rstrip(",")
    else:
        quotes = re.sub(r'"(?:\\.|[^"\\])*"', lambda m: "x" * len(m[0]), text)
        level = 0
        for place, letter in enumerate(quotes):
            level += (letter in "([") - (letter in ")]")
            if letter == "{" and level == 0:
                text = text[:place]
                break
    return re.sub(r"\(\s+", "(", re.sub(r"\s+\)", ")", text)).strip()


def _member(text: str, language: str) -> str:
    head = text.split("(")[0] if language == "java" else text
    found = list(_NAME[language].finditer(head + (";" if language == "java" else "")))
    if not found:
        return ""
    match = found[-1] if language == "java" else found[0]
    return str(next(filter(None, match.groups()))).strip("`")


def rendered(item: Item, language: str, level: int) -> str:
    """An item as Markdown, below a heading of `level`."""
    comment = _java_comment(item.comment) if language == "java" else item.comment
    if not item.code:
        return f"{'#' * level} {escaped(item.name)}"
    parts = [f"{'#' * level} `{item.name}`", f"```{language}\n" + "\n".join(item.code) + "\n```"]
    if text := markdown(comment, language):
        parts.append(text)
    bare: list[str] = []
    for member in item.inside:
        if member.inside:
            parts.append(rendered(member, language, level + 1))
        elif not member.comment:
            bare.append(member.code[0])
        else:
            below = markdown(
                _java_comment(member.comment) if language == "java" else member.comment, language
            )
            parts.append(f"```{language}\n{member.code[0]}\n```\n\n{below}")
    if bare:
        parts.insert(3 if text else 2, f"```{language}\n" + "\n".join(bare) + "\n```")
    return "\n\n".join(parts)
