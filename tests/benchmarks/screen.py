"""What stands on a terminal after some bytes: enough of xterm to find a word on the screen.

Programs repaint single cells, so a word may arrive in pieces; looking for it in the byte stream
would miss it or see it too early. Colours, scrolling and wide characters are not followed.
"""

from __future__ import annotations

import codecs
import re

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f\x9b]+)"
    r"|\x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]P_^X](?P<string>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
)


class Screen:
    """A grid of characters with a cursor."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._rows = [[" "] * width for _ in range(height)]
        self._row = self._column = 0
        self._saved = (0, 0)
        self._last = " "
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Take the next bytes; a sequence that is cut off waits for its end."""
        text = self._rest + self._decoder.decode(data)
        place = 0
        while place < len(text):
            token = _TOKEN.match(text, place)
            if token is None:
                if len(text) - place < 4096:
                    break
                place += 1
                continue
            self._take(token)
            place = token.end()
        self._rest = text[place:]

    def lines(self) -> list[str]:
        """Return the rows without the blanks at their ends."""
        return ["".join(row).rstrip() for row in self._rows]

    def text(self) -> str:
        """Return the whole screen."""
        return "\n".join(self.lines())

    @property
    def is_blank(self) -> bool:
        """Tell whether nothing visible is on it."""
        return all(cell.isspace() for row in self._rows for cell in row)

    def _take(self, token: re.Match[str]) -> None:
        if token["text"] is not None:
            self._write(token["text"])
        elif token["final"] is not None:
            self._command(token["final"], token["parameters"])
        elif token["escape"] is not None:
            self._escape(token["escape"])
        elif token["control"] is not None:
            self._control(token["control"])

    def _write(self, text: str) -> None:
        for char in text:
            if self._column >= self.width:
                self._column = 0
                self._row = min(self._row + 1, self.height - 1)
            self._rows[self._row][self._column] = char
            self._column += 1
        self._last = text[-1]

    def _control(self, char: str) -> None:
        match char:
            case "\r":
                self._column = 0
            case "\n" | "\v" | "\f":
                self._row = min(self._row + 1, self.height - 1)
            case "\b":
                self._column = max(0, self._column - 1)
            case "\t":
                self._column = min(self.width - 1, (self._column // 8 + 1) * 8)

    def _escape(self, char: str) -> None:
        match char:
            case "7":
                self._saved = (self._row, self._column)
            case "8":
                self._row, self._column = self._saved
            case "c":
                self._erase(0, 0, self.height * self.width)
                self._row = self._column = 0

    def _command(self, final: str, parameters: str) -> None:
        if parameters[:1] in ("<", "=", ">", "?"):
            if final == "h" and "1049" in parameters:
                self._erase(0, 0, self.height * self.width)
            return
        numbers = [int(word) if word.isdigit() else 0 for word in parameters.split(";")]
        first = numbers[0]
        count = max(1, first)
        row, column = self._row, min(self._column, self.width - 1)
        match final:
            case "H" | "f":
                second = numbers[1] if len(numbers) > 1 else 1
                self._move(count - 1, max(1, second) - 1)
            case "A":
                self._move(row - count, column)
            case "B" | "e":
                self._move(row + count, column)
            case "C" | "a":
                self._move(row, column + count)
            case "D":
                self._move(row, column - count)
            case "E":
                self._move(row + count, 0)
            case "F":
                self._move(row - count, 0)
            case "G" | "`":
                self._move(row, count - 1)
            case "d":
                self._move(count - 1, column)
            case "J":
                here = row * self.width + column
                start = 0 if first in (1, 2, 3) else here
                end = here + 1 if first == 1 else self.height * self.width
                self._erase(0, start, end)
            case "K":
                start = 0 if first in (1, 2) else column
                self._erase(row, start, column + 1 if first == 1 else self.width)
            case "X":
                self._erase(row, column, min(column + count, self.width))
            case "P":
                del self._rows[row][column : column + count]
                self._rows[row] += [" "] * (self.width - len(self._rows[row]))
            case "@":
                self._rows[row][column:column] = [" "] * count
                del self._rows[row][self.width :]
            case "b":
                self._write(self._last * count)

    def _move(self, row: int, column: int) -> None:
        self._row = min(max(row, 0), self.height - 1)
        self._column = min(max(column, 0), self.width - 1)

    def _erase(self, row: int, start: int, end: int) -> None:
        """Blank the cells from `start` to `end`, counted from the beginning of `row`."""
        for place in range(row * self.width + start, row * self.width + end):
            self._rows[place // self.width][place % self.width] = " "
