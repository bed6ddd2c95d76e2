"""What travels says the same without docstrings and comments, line by line."""

from __future__ import annotations

import ast

import pytest

from gpudash.sources import shipping
from gpudash.sources.leaning import lean

TEXT = '''"""Why.

More.
"""
import os  # needed

A = "# no comment"  # one


class B(object):
    """Only this."""


def f(x):
    """Say.

    # not a comment
    """
    # why
    return (
        x,  # the first
        """kept""",
    )
'''


def test_what_is_left() -> None:
    assert lean(TEXT).splitlines() == [
        *["", "", "", ""],
        *["import os", "", 'A = "# no comment"', "", ""],
        *["class B(object):", '    ""', "", "", "def f(x):"],
        *["", "", "", "", ""],
        *["    return (", "        x,", '        """kept""",', "    )"],
    ]


class _Bare(ast.NodeTransformer):
    """Takes the first text of every body away."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del body[0]
        return node


@pytest.mark.parametrize("name", [*shipping.HAND_MODULES, *shipping.ORDER_MODULES])
def test_the_program_is_the_same(name: str) -> None:
    source = shipping.source_of(name)
    before, after = (_Bare().visit(ast.parse(text)) for text in (source, lean(source)))
    # Positions too, but for columns: a traceback of a host names our lines.
    assert ast.dump(before) == ast.dump(after)
    rows = [[getattr(node, "lineno", 0) for node in ast.walk(tree)] for tree in (before, after)]
    assert rows[0] == rows[1]
