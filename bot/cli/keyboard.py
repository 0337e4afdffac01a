"""Reads lines from a person without blocking the event loop, and without holding up the exit."""

import asyncio
import sys
import threading
from queue import SimpleQueue

_Asked = tuple[str, "asyncio.Future[str]", asyncio.AbstractEventLoop]


class Keyboard:
    """One reader for requests and answers alike, so that an answer is never taken for the next request."""

    def __init__(self) -> None:
        self._prompts: SimpleQueue[_Asked] = SimpleQueue()
        # A daemon: a prompt nobody answers must not keep the process from ending.
        threading.Thread(target=self._serve, daemon=True, name="keyboard").start()

    async def ask(self, prompt: str) -> str:
        """Return the line a person typed; raise EOFError at the end of the input."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()
        self._prompts.put((prompt, answer, loop))
        return await answer

    def _serve(self) -> None:
        while True:
            prompt, answer, loop = self._prompts.get()
            try:
                line, error = _read(prompt), None
            except (EOFError, UnicodeDecodeError) as problem:
                line, error = "", EOFError(str(problem))
            loop.call_soon_threadsafe(_resolve, answer, line, error)


def _read(prompt: str) -> str:
    if sys.stdin.isatty():
        return input(prompt)
    # Through a pipe the prompt and the answer are both shown, so that the output reads like the conversation.
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    sys.stdout.write(f"{prompt}{line}" if line.endswith("\n") else f"{prompt}{line}\n")
    sys.stdout.flush()
    return line.rstrip("\n")


def _resolve(answer: "asyncio.Future[str]", line: str, error: EOFError | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(line)
