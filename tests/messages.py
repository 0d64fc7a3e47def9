"""All error messages of the package, as they stand in the code.

    python -m tests.messages        writes tests/golden/messages.txt; read its diff

Other tests hold an error by its class or exit code and by the path, option or name that it mentions, so that a sentence
can be rewritten in one place: the code and this file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "equipoise"
GOLDEN = ROOT / "tests" / "golden" / "messages.txt"
ERRORS = {
    "UserError",
    "ImageProblem",
    "Unidentified",
    "Refused",
    "DownloadRefused",
    "Unknown",
    "Broken",
}  # and their subclasses
ADDED = {"add", "add_some", "raise_if_any"}  # methods of core.errors.Problems


def text_of(node: ast.AST) -> str:
    """A string as it is written, an f-string with its expressions in braces; other expressions are {...}."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.IfExp):
        return f"{{{text_of(node.body)} | {text_of(node.orelse)}}}"
    return "{...}"


def kinds(trees: Sequence[ast.AST]) -> set[str]:
    """The names of all classes of errors for users, among them those that a file defines for itself."""
    found = set(ERRORS)
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    while more := {one.name for one in classes if found & {getattr(base, "id", "") for base in one.bases}} - found:
        found |= more
    return found


def said_in(tree: ast.AST, errors: Set[str]) -> Iterator[str]:
    """The messages of a file in their order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in errors | ADDED:
                texts = [text_of(argument) for argument in (*node.args, *(one.value for one in node.keywords))]
                if words := " / ".join(text for text in texts if text.replace("{...}", "").strip(" :,;\n")):
                    yield words.replace("\n", "\\n")


def messages() -> str:
    """All of them, under the names of their files; one line each."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    errors, parts = kinds([*trees.values()]), []
    for path, tree in trees.items():
        if found := sorted(set(said_in(tree, errors))):
            parts.append("\n".join([f"# {path.relative_to(SOURCE).as_posix()}", *found]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(messages(), encoding="utf-8")
