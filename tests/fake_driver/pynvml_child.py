"""Make single NVML calls through nvidia-ml-py in a child that sees the fake driver.

The binding finds its library by LD_LIBRARY_PATH, which counts only from a process's start. Run as a
script this is the child: a JSON request a line, a JSON answer a line; handles stay there.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fake_driver import FakeDriver


class NvmlCode(Exception):
    """A call answered this NVML code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class PynvmlChild:
    """A child to call into; a context manager. It initialises NVML unless told not to."""

    def __init__(self, driver: FakeDriver, *, init: bool = True) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__],
            env=driver.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if init:
            self.call("nvmlInit")

    def send(self, name: str, *arguments: Any) -> None:
        """Ask for a call of `pynvml.NAME`; the answer is fetched by `receive`."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        if "code" in answer:
            raise NvmlCode(answer["code"])
        return answer["value"]

    def call(self, name: str, *arguments: Any) -> Any:
        """Return a call's value; a handle comes back as a name to pass on.

        Raises NvmlCode where the call failed.
        """
        self.send(name, *arguments)
        return self.receive()

    def device(self, index: int) -> str:
        handle: str = self.call("nvmlDeviceGetHandleByIndex", index)
        return handle

    def code(self, name: str, *arguments: Any) -> int:
        """Return a call's NVML code, 0 for success."""
        try:
            self.call(name, *arguments)
        except NvmlCode as error:
            return error.code
        return 0

    def __enter__(self) -> PynvmlChild:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def plain(value: Any, handles: list[Any]) -> Any:
    """Return a value as JSON can carry it."""
    if isinstance(value, ctypes._Pointer):
        handles.append(value)
        return f"@{len(handles) - 1}"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name), handles) for name, *_ in value._fields_}
    if isinstance(value, ctypes._SimpleCData):
        return value.value
    if isinstance(value, ctypes.Union):
        return value.ullVal
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [plain(item, handles) for item in value]
    if hasattr(value, "__dict__"):
        return vars(value)
    return value


def serve() -> None:
    import pynvml

    handles: list[Any] = []
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        for place, argument in enumerate(arguments):
            if isinstance(argument, str) and argument.startswith("@"):
                arguments[place] = handles[int(argument[1:])]
        try:
            answer = {"value": plain(getattr(pynvml, name)(*arguments), handles)}
        except pynvml.NVMLError as error:
            answer = {"code": error.value}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
