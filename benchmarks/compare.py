"""numgrad and PyTorch side by side: `python benchmarks/compare.py`, with --quick or --only NAME to make it shorter.

Each case is written once, against the interface that both libraries share (cases_*.py). The two take turns, block by
block in one process, so that a machine that slows down slows both; once with one thread and once with two. The ratios are
printed last. The exit status is 1 when a number that must be met is missed.

A ratio is numgrad's time divided by PyTorch's. There are two, of the minima and of the medians of the blocks, and the
worse one has to meet the limit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))  # run as a script, this file is in no package

from benchmarks import cases_data, cases_functions, cases_layers, cases_networks, cases_tensors  # noqa: E402
from benchmarks.case import Step  # noqa: E402

CASES = [
    *cases_networks.CASES,
    *cases_functions.CASES,
    *cases_tensors.CASES,
    *cases_layers.CASES,
    *cases_data.CASES,
]


# Timing in turns ------------------------------------------------------------------------------------------------------


def seconds_per_call(step: Step, calls: int) -> float:
    """The mean over one block of calls."""
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - start) / calls


def calls_in(step: Step, seconds: float) -> int:
    """How many calls fill a block of this length; runs the step a few times, which also warms it up."""
    step()
    step()
    estimate = min(seconds_per_call(step, 1) for _ in range(5))
    return max(1, min(10_000, round(seconds / estimate)))


def take_turns(steps: dict[str, Step], rounds: int, block: float) -> dict[str, list[float]]:
    """Seconds per call of every step, one number a round; within a round the steps take turns.

    The threads of a library poll for work after its turn, those of OpenMP for some milliseconds. Before the next turn they
    are left to fall asleep; else the other library would be measured on half a core.
    """
    calls = {name: calls_in(step, block) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name in sorted(steps, reverse=bool(number % 2)):
            time.sleep(0.02)
            steps[name]()
            times[name].append(seconds_per_call(steps[name], calls[name]))
    return times


def run_cases(threads: int, names: list[str], quick: bool) -> None:
    """The part that runs in a process of its own for each number of threads; prints one line of JSON for each case."""
    import torch

    import numgrad

    torch.set_num_threads(threads)
    if hasattr(numgrad, "set_num_threads"):
        numgrad.set_num_threads(threads)
    rounds, block = (5, 0.01) if quick else (15, 0.03)
    for case in CASES:
        if case.name in names:
            steps = {"numgrad": case.make(numgrad), "torch": case.make(torch)}
            print(json.dumps({"name": case.name, **take_turns(steps, rounds, block)}), flush=True)


# Rows of the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the final table, and whether it is as it must be (None: nothing is demanded)."""

    text: str
    met: bool | None

    def __str__(self) -> str:
        return f"{self.text}  {'' if self.met is None else 'ok' if self.met else 'MISSED'}".rstrip()


_BYTECODE = tempfile.TemporaryDirectory()  # as installed: a checkout may be forbidden to keep its own


def python(*arguments: str | Path, **environment: str) -> str:
    """Run this Python on the arguments in a process of its own and return what it prints."""
    command = [sys.executable, *map(str, arguments)]
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _BYTECODE.name}
    result = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"failed: {' '.join(command)}")
    return result.stdout


def side_by_side(threads: int, names: list[str], quick: bool) -> list[Row]:
    """The rows of the chosen cases for one number of threads."""
    limit = str(threads)
    flags = ["--quick"] if quick else []
    output = python(
        __file__, "--threads", limit, *flags, *(f"--only={name}" for name in names),
        OMP_NUM_THREADS=limit, OPENBLAS_NUM_THREADS=limit, MKL_NUM_THREADS=limit, NUMBA_NUM_THREADS=limit,
    )  # fmt: skip
    at_most = {case.name: case.at_most if threads in case.on_threads else None for case in CASES}
    return [ratio_row(threads, result, at_most[result["name"]]) for result in map(json.loads, output.splitlines())]


def ratio_row(threads: int, result: dict[str, Any], at_most: float | None) -> Row:
    """Format one measured case."""
    least = [min(result[library]) * 1e6 for library in ("numgrad", "torch")]
    middle = [statistics.median(result[library]) * 1e6 for library in ("numgrad", "torch")]
    ratios = least[0] / least[1], middle[0] / middle[1]
    columns = f"{least[0]:10.1f} {middle[0]:10.1f} {least[1]:10.1f} {middle[1]:10.1f} {ratios[0]:8.2f} {ratios[1]:8.2f}"
    demand = "" if at_most is None else f"<= {at_most}"
    met = None if at_most is None else max(ratios) <= at_most
    return Row(f"{result['name']:28} {threads:7d} {columns}  {demand:7}", met)


RATIO_HEADER = (
    f"{'':28} {'':7} {'numgrad, us':>21} {'PyTorch, us':>21} {'numgrad / PyTorch':>17}\n"
    f"{'case':28} {'threads':>7} {'min':>10} {'median':>10} {'min':>10} {'median':>10} {'min':>8} {'median':>8}  must"
)


def import_rows(quick: bool) -> list[Row]:
    """`import numgrad` against `import numba`, in fresh processes that take turns."""
    program = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    times: dict[str, list[float]] = {"numba": [], "numgrad": [], "torch": []}
    for _ in range(3 if quick else 9):
        for module, seconds in times.items():
            seconds.append(float(python("-c", program.format(module))))
    numba, numgrad, torch = (statistics.median(seconds) for seconds in times.values())
    extra = numgrad - numba
    text = f"import: numba {numba:.3f} s, numgrad {extra:+.3f} s (must be <= +0.15); for comparison torch {torch:.3f} s"
    return [Row(text, extra <= 0.15)]


def first_step_rows(quick: bool) -> list[Row]:
    """The first step of the digits network in a fresh process: no kernel on disk yet, then all of them."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for label, repeats, at_most in (("empty cache", 1, 8.0), ("warm cache", 3 if quick else 7, 1.0)):
            runs = [json.loads(python(HERE / "first_step.py", NUMGRAD_CACHE_DIR=cache)) for _ in range(repeats)]
            run = sorted(runs, key=lambda run: run["total"])[len(runs) // 2]
            seconds = run["total"]
            text = f"first step, {label}: {seconds:.2f} s (must be <= {at_most:g}), of it {run['import']:.2f} s import"
            rows.append(Row(text, seconds <= at_most))
    return rows


def long_chain_rows(quick: bool) -> list[Row]:
    """100,000 operations in a row: no recursion, and the memory comes back to within a tenth of what the graph took."""
    run = json.loads(python(HERE / "long_chain.py"))
    margin = max(8.0, (run["peak_mib"] - run["before_mib"]) / 10)
    after = max(run["after_backward_mib"], run["after_unused_mib"])
    text = (
        f"100,000 operations: forward, backward and destruction {run['backward_s']:.2f} s; resident before "
        f"{run['before_mib']:.0f} MiB, with the graph {run['peak_mib']:.0f}, after {after:.0f} "
        f"(must be within {margin:.0f} of before)"
    )
    return [Row(text, after - run["before_mib"] <= margin)]


PROCESS_CASES = {"import": import_rows, "first step": first_step_rows, "long chain": long_chain_rows}


def main() -> int:
    """Run what was chosen and print the table."""
    names = [case.name for case in CASES] + list(PROCESS_CASES)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repeats")
    parser.add_argument("--only", action="append", metavar="NAME", help="cases whose name begins so; may be repeated")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)  # how this file calls itself
    options = parser.parse_args()
    chosen = [name for name in names if not options.only or name.startswith(tuple(options.only))]
    if not chosen:
        parser.error(f"no such case; there are: {', '.join(names)}")
    if options.threads:
        run_cases(options.threads, chosen, options.quick)
        return 0

    in_turns = [name for name in chosen if name not in PROCESS_CASES]
    started = [row for name in chosen if name in PROCESS_CASES for row in PROCESS_CASES[name](options.quick)]
    ratios = [row for threads in (1, 2) if in_turns for row in side_by_side(threads, in_turns, options.quick)]
    if started:
        print(*started, "", sep="\n")
    if ratios:
        print(RATIO_HEADER, *ratios, sep="\n")
    missed = sum(row.met is False for row in started + ratios)
    print(f"\n{missed} missed of {sum(row.met is not None for row in started + ratios)} that must be met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
