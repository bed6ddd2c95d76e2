"""The filter's small language: `mem>50% user=me host=node* not state=held`.

The parser is our own: the grammar has twelve lines, each error must know its column, and nothing
typed so far may ever raise. A parsing library would bring its own errors and its import time.

    query  = or ;  or = and { "or" and } ;  and = not { ["and"] not }
    not    = ("not" | "!") not | "(" or ")" | field operator value | word
"""

from __future__ import annotations
