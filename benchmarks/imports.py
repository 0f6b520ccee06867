"""How long `import trax` takes, as it is and after `import siamese`: both in one run, in turn.

    python benchmarks/imports.py --runs 3

Where TensorFlow is not installed, Trax alone cannot be imported at all; run this in an environment with
requirements/tensorflow.txt to see both.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

PROGRAMS = {
    "import trax": "import trax",
    "import siamese, import trax": "import siamese, trax",
    "import siamese": "import siamese",
    "siamese --help": "import sys, siamese.cli.main as cli; cli.main(['--help'])",
}
LOADED = "\nimport sys; print('TENSORFLOW' if 'tensorflow' in sys.modules else 'NO')"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    seconds = {name: [] for name in PROGRAMS}
    loads = {}
    for _ in range(flags.runs):
        for name, program in PROGRAMS.items():
            code = program if "help" in name else program + LOADED
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            if done.returncode:
                loads[name] = "fails: " + done.stderr.strip().splitlines()[-1]
                continue
            seconds[name].append(time.perf_counter() - start)
            loads[name] = "loads TensorFlow" if "TENSORFLOW" in done.stdout else ""
    medians = {name: statistics.median(times) for name, times in seconds.items() if times}
    if flags.json:
        print(json.dumps(medians))
        return
    for name in PROGRAMS:
        print(f"{name:<30}{medians.get(name, float('nan')):8.2f} s   {loads[name]}")
    if len(medians) == len(PROGRAMS):
        ratio = medians["import trax"] / medians["import siamese, import trax"]
        print(f"{ratio:.1f} times faster with siamese (medians of {flags.runs} runs in turn)")


if __name__ == "__main__":
    main()
