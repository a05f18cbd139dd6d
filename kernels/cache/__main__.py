"""The command `python -m numgrad.kernels.cache`: what compiled kernels there are; clears them, and compiles ahead."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import place, warm


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status is 0 when what was asked for is done."""
    parser = argparse.ArgumentParser(
        prog="python -m numgrad.kernels.cache",
        description="Show the compiled kernels that numgrad keeps on disk, delete them, or compile them ahead of need. "
        "NUMGRAD_CACHE_DIR sets the place.",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--clear", action="store_true", help="delete the kernels of all environments")
    action.add_argument("--warm", action="store_true", help="compile the kernels of the op table")
    parser.add_argument("--dtype", nargs="+", choices=warm.DTYPES, metavar="DTYPE", help="dtypes for --warm: float32 if "
                        f"not given, of {', '.join(warm.DTYPES)}")  # fmt: skip
    parser.add_argument("--ops", nargs="+", metavar="OP", help="names of the ops for --warm: all if not given")
    given = parser.parse_args(arguments)
    if not given.warm and (given.dtype or given.ops):
        parser.error("--dtype and --ops go with --warm")
    try:
        root = place.root()
        if given.clear:
            return clear(root)
        if given.warm:
            return compile_ahead(root, given.dtype or ["float32"], given.ops)
        return show(root)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def show(root: Path) -> int:
    """Print the place, and the size of each environment's kernels."""
    print(f"place: {root}")
    place.check(root / place.environment().key)
    listings = list(place.listings(root))
    for listing in listings:
        if listing.path.name == place.environment().key:
            use = "this environment"
        else:
            use = "last used " + time.strftime("%Y-%m-%d", time.localtime(listing.path.stat().st_mtime))
        print(f"{_amount([listing])}  {listing.description} ({use})")
    if len(listings) != 1:
        print(f"{_amount(listings)}  in all")
    return 0


def clear(root: Path) -> int:
    """Delete what numgrad has put under a place, and nothing else."""
    listings = list(place.listings(root))
    if not listings and root.exists() and any(root.iterdir()):
        print(f"{root} holds nothing that numgrad made, so nothing was deleted", file=sys.stderr)
        return 1
    amount = _amount(listings)
    for listing in listings:
        listing.clear()
        if listing.path.exists():
            print(f"{listing.path} stays: there are other files in it", file=sys.stderr)
    print(f"deleted {amount.strip()} from {root}")
    return 0


def compile_ahead(root: Path, dtypes: Sequence[str], ops: Sequence[str] | None) -> int:
    """Compile the kernels of the op table, with a bar that shows how far it is and for how much longer."""
    directory = place.opened(root / place.environment().key)
    if not os.access(directory, os.W_OK):
        raise PermissionError(f"{directory} cannot be written, so nothing that is compiled could be kept")
    before = set(directory.iterdir())
    start = time.perf_counter()
    tasks = warm.tasks(dtypes, ops)
    for _, call in _with_progress(tasks):
        call()
    made = set(directory.iterdir()) - before
    size = sum(path.stat().st_size for path in made)
    seconds = time.perf_counter() - start
    print(f"compiled {len(made)} kernels ({size / 1e6:.1f} MB) into {directory} in {seconds:.0f} s")
    return 0


def _amount(listings: Sequence[place.Listing]) -> str:
    return f"{sum(len(x.kernels) for x in listings):5d} kernels {sum(x.size for x in listings) / 1e6:7.1f} MB"


def _with_progress(tasks: Sequence[warm.Task]) -> Iterator[warm.Task]:
    try:
        from tqdm import tqdm
    except ImportError:
        yield from _counted(tasks)
        return
    with tqdm(tasks, unit="kernel") as bar:
        for task in bar:
            bar.set_postfix_str(task[0])
            yield task


def _counted(tasks: Sequence[warm.Task]) -> Iterator[warm.Task]:
    start = time.perf_counter()
    for done, task in enumerate(tasks):
        left = f", {(time.perf_counter() - start) / done * (len(tasks) - done):.0f} s left" if done else ""
        print(f"{done + 1}/{len(tasks)} {task[0]}{left}", file=sys.stderr)
        yield task


if __name__ == "__main__":
    sys.exit(main())
