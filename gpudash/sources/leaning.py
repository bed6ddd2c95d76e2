"""Takes docstrings and comments out of what travels to a host; every line keeps its number.

They are a third of our text. A host that does not read yet must not block who writes, and a pipe
holds 64 KiB.
"""

from __future__ import annotations

import ast
import io
import tokenize


def lean(source: str) -> str:
    """Return a module's text without docstrings and comments. Raises SyntaxError."""
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            _drop_docstring(node, lines)
    return "".join(lines)


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef, lines: list[str]) -> None:
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return
    if not isinstance(first.value.value, str) or first.end_lineno is None:
        return
    # Something must stand there where it was all.
    rest = "\n" if len(node.body) > 1 else f'{" " * first.col_offset}""\n'
    lines[first.lineno - 1 : first.end_lineno] = [rest] + ["\n"] * (first.end_lineno - first.lineno)
