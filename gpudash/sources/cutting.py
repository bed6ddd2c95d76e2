"""Cuts out of a module's text what a few of its functions need, by its syntax tree."""

from __future__ import annotations

import ast


def cut_binding(source: str, names: tuple[str, ...]) -> str:
    """Return the module-level statements that define `names` and all that these use.

    Imports of modules stay where they are used; conditional top-level code does not travel.
    Raises SyntaxError for a text that is no Python, KeyError for a name that it does not define.
    """
    tree = ast.parse(source)
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _defines(statement):
            defined.setdefault(name, []).append(statement)
    wanted = list(names)
    for name in names:
        if name not in defined:
            raise KeyError(name)
    seen: set[str] = set()
    kept: set[ast.stmt] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for statement in defined.get(name, ()):
            kept.add(statement)
            wanted.extend(_uses(statement))
    lines = ["from ctypes import *"]
    lines += [_text(statement) for statement in tree.body if statement in kept]
    return "\n".join(lines) + "\n"


def _defines(statement: object) -> list[str]:
    match statement:
        case ast.FunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Assign():
            names = [node for target in statement.targets for node in ast.walk(target)]
            return [node.id for node in names if isinstance(node, ast.Name)]
        case ast.Import():
            return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
        case ast.ImportFrom() if statement.module != "ctypes":
            return [alias.asname or alias.name for alias in statement.names]
        case _:
            return []


def _uses(statement: object) -> set[str]:
    assert isinstance(statement, ast.stmt)
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _text(statement: object) -> str:
    """Return a statement as compact text: comments and docstrings don't travel."""
    assert isinstance(statement, ast.stmt)
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(statement)
