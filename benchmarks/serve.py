"""`siamese serve` under load: throughput, latency, errors, and questions added meanwhile.

Usage: python benchmarks/serve.py --index old --queries queries.txt [--seconds 60] [--adds 1000] \\
           [--results benchmarks/results/serve.json]

The queries are one a line. Needs wrk on the path. Two servers, one after the other, each asked /v1/search
for one question a request:

together   as `siamese serve` starts it, 24 connections; then again while 16 clients add questions, one
           at a time. Afterwards each added question is searched for. The server is killed (SIGKILL),
           started again, and each is searched for once more
one        the first server again, one connection

It changes the index: give it a copy. Other work on the machine changes the figures; ratios less. Where
others use the cores, set OPENBLAS_NUM_THREADS=1: threads that wait for a taken core cost far more.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SCRIPT = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local at = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  at = at + 1
  return wrk.format(nil, nil, nil, bodies[at % #bodies + 1])
end
"""


def ask(port: int, path: str, body: dict | None = None) -> dict:
    """An answer of the server."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


class Server:
    """A server process, ready when the block begins."""

    def __init__(self, *command: str, port: int, end: int = signal.SIGTERM):
        self.command, self.port, self.end = command, port, end

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, *self.command])
        for _ in range(600):
            try:
                ask(self.port, "/health")
                return self
            except OSError:
                time.sleep(0.2)
        raise SystemExit("The server does not answer.")

    def __exit__(self, *error):
        self.process.send_signal(self.end)
        self.process.wait()


def load(port: int, folder: Path, connections: int, seconds: int) -> dict:
    """What wrk says of so many connections."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "60s"]
    command += ["-s", str(folder / "wrk.lua"), f"http://127.0.0.1:{port}/v1/search"]
    environment = {**os.environ, "BODIES": str(folder / "bodies")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    print(done.stdout, flush=True)

    def figure(pattern: str) -> str:
        found = re.search(pattern, done.stdout)
        return found[1] if found else "0"

    def milliseconds(text: str) -> float:
        number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
        return round(float(number) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[unit], 1)

    socket_errors = re.search(r"Socket errors: (.*)", done.stdout)
    return {
        "connections": connections,
        "seconds": seconds,
        "requests": int(figure(r"(\d+) requests in")),
        "per_second": float(figure(r"Requests/sec:\s+([\d.]+)")),
        "p50_ms": milliseconds(figure(r"\n +50%\s+(\S+)")),
        "p99_ms": milliseconds(figure(r"\n +99%\s+(\S+)")),
        "not_200": int(figure(r"Non-2xx or 3xx responses: (\d+)")),
        "socket_errors": socket_errors[1] if socket_errors else "none",
    }


def missing(port: int, added: dict[str, str]) -> int:
    """How many of the added questions, id -> text, a search for their text does not find."""
    ids, lost = list(added), 0
    for start in range(0, len(ids), 100):
        part = ids[start : start + 100]
        body = {"questions": [added[i] for i in part], "k": 10}
        results = ask(port, "/v1/search", body)["results"]
        lost += sum(i not in [hit["id"] for hit in hits] for i, hits in zip(part, results))
    return lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--adds", type=int, default=1000)
    parser.add_argument("--port", type=int, default=8321)
    parser.add_argument("--results", default="benchmarks/results/serve.json")
    flags = parser.parse_args()
    texts, port = Path(flags.queries).read_text().splitlines(), flags.port
    draw = random.Random(0)
    texts = draw.sample(texts, len(texts))
    added = {}
    for n in range(flags.adds):  # New texts of known words.
        words = f"{draw.choice(texts)} {draw.choice(texts)}".split()
        added[f"added-{n}"] = " ".join(draw.sample(words, len(words)))
    plain = ["-m", "siamese.cli", "serve", flags.index, "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(17) as clients:
        folder = Path(folder)
        (folder / "wrk.lua").write_text(SCRIPT)
        bodies = (json.dumps({"questions": [text], "k": 10}) for text in texts)
        (folder / "bodies").write_text("\n".join(bodies))
        found = {"load_of_the_machine": os.getloadavg()[0], "cores": os.cpu_count()}
        found["OPENBLAS_NUM_THREADS"] = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
        with Server(*plain, port=port, end=signal.SIGKILL):
            found["questions"] = ask(port, "/v1/info", {})["questions"]
            load(port, folder, 24, 10)  # What the process does once.
            found["together"] = load(port, folder, 24, flags.seconds)
            begun = time.perf_counter()
            during = clients.submit(load, port, folder, 24, flags.seconds)

            def add(i: str) -> None:
                ask(port, "/v1/add", {"questions": [{"question": added[i], "id": i}]})

            list(clients.map(add, added))
            found["adds"] = {"count": len(added), "seconds": round(time.perf_counter() - begun, 1)}
            found["while_adding"] = during.result()
            found["adds"]["not_found"] = missing(port, added)
        with Server(*plain, port=port):
            found["adds"]["not_found_after_kill"] = missing(port, added)
            load(port, folder, 24, 10)
            found["one"] = load(port, folder, 1, flags.seconds)
    ratio = found["together"]["per_second"] / found["one"]["per_second"]
    found["together_to_one"] = round(ratio, 2)
    print(json.dumps(found, indent=1))
    Path(flags.results).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
