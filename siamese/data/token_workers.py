"""Tokenizing on several cores: one worker process a core, each a bare Python with the tokenizer.

The workers are started as commands of their own rather than by multiprocessing. Forking a process
that runs JAX's threads can hang, and spawning imports the user's script again, which fails in a
notebook cell or a script without ``if __name__ == "__main__"``. A worker reads a line of JSON, a
list of texts, and answers with a line, their tokens; it ends when its input does, so it also ends
when its parent is killed.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO

from siamese.data.tokenizer import tokenize_many, tokenizer_version

# What one line of a worker holds: some 50 ms of work, so that all cores end at nearly one time.
TEXTS_PER_TASK = 500


def usable_cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def tokenize_in_workers(
    texts: Sequence[str], processes: int, done: Callable[[int], None]
) -> tuple[list[list[str]], str | None]:
    """The tokens of each text, worked out by `processes` worker processes.

    Args:
      texts: what to tokenize.
      processes: how many workers to start, 1 or more.
      done: called from this thread with the number of texts finished since the last call.

    Returns:
      The tokens of each text in order, and why this process had to do some of the work itself:
      None where it had not.
    """
    tasks: queue.SimpleQueue[int] = queue.SimpleQueue()
    starts = range(0, len(texts), TEXTS_PER_TASK)
    for start in starts:
        tasks.put(start)
    # (start, tokens) for a finished task, (None, reason) when a worker has ended
    answers: queue.SimpleQueue[tuple[int | None, object]] = queue.SimpleQueue()
    workers: list[subprocess.Popen] = []
    reason = None
    found: dict[int, list[list[str]]] = {}
    try:
        for _ in range(processes):
            try:
                workers.append(_start())
            except (OSError, ValueError) as error:
                reason = f"no worker process could be started: {error}"
                break
            arguments = (workers[-1], texts, tasks, answers)
            threading.Thread(target=_drive, args=arguments, daemon=True).start()
        running = len(workers)
        while running:
            start, answer = answers.get()
            if start is None:
                running -= 1
                reason = reason or answer  # type: ignore[assignment]
            else:
                found[start] = answer  # type: ignore[assignment]
                done(len(found[start]))
    finally:
        for worker in workers:  # idle by now, unless this is an interrupt
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                _close(pipe)
    for start in starts:
        if start not in found:
            found[start] = tokenize_many(texts[start : start + TEXTS_PER_TASK])
            done(len(found[start]))
    return [tokens for start in starts for tokens in found[start]], reason


def _start() -> subprocess.Popen:
    if not sys.executable:
        raise ValueError("the path of this Python is unknown")
    # -P: the current folder may hold a random.py; the parent's path comes along whole.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "siamese.data.token_workers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def _drive(
    worker: subprocess.Popen,
    texts: Sequence[str],
    tasks: queue.SimpleQueue[int],
    answers: queue.SimpleQueue[tuple[int | None, object]],
) -> None:
    """Gives one worker its tasks, in a thread of its own, until there are none or it fails."""
    reason = None
    try:
        greeting = worker.stdout.readline()
        if json.loads(greeting or b"null") != tokenizer_version():
            raise ValueError("its NLTK is not the one of this process")
        while True:
            start = tasks.get_nowait()
            chunk = list(map(str, texts[start : start + TEXTS_PER_TASK]))
            _send(worker.stdin, chunk)
            tokens = json.loads(worker.stdout.readline() or b"null")
            if not isinstance(tokens, list) or len(tokens) != len(chunk):
                raise ValueError("it ended early")
            answers.put((start, tokens))
    except queue.Empty:
        pass
    except (OSError, ValueError) as error:
        reason = f"a worker process failed: {error}"
    finally:
        answers.put((None, reason))


def _send(pipe: IO[bytes], content: object) -> None:
    pipe.write(json.dumps(content).encode("ascii") + b"\n")
    pipe.flush()


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        pass  # what was still unwritten has no reader any more


def main() -> None:
    """A worker: greets with its tokenizer's version, then answers lines until its input ends."""
    lines, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get among the answers
    _send(answers, tokenizer_version())
    for line in lines:
        _send(answers, tokenize_many(json.loads(line)))


if __name__ == "__main__":
    main()
