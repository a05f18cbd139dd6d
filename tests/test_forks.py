"""Forks, pools of processes, interrupts and the end of the interpreter: never a hang, a crash or a wrong result.

Programs of their own have a time-out, which only bounds a hang.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

import pytest
from processes import output

import numgrad as ng
from numgrad.kernels import threads

LARGE = threads.THRESHOLD + 3
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
# Python 3.12 and newer warn of any fork of a process with threads.
FORKING = {"options": ("-W", "ignore::DeprecationWarning")}


# ---------------------------------------------------------------------------------------------------- forks
FORK = f"""
import os, threading
import numgrad as ng
from numba.core.compiler_lock import global_compiler_lock
ng.set_num_threads(2)
x = ng.ones({LARGE}, requires_grad=True)
(x * x).sum().backward()
busy = threading.Event()
def work():
    while not busy.is_set():
        with global_compiler_lock:  # as if a kernel were being compiled
            (x.detach() * 2).exp()
def compute():
    y = ng.ones({LARGE}, requires_grad=True)
    (y.tanh() * y).sum().backward()
    return y.grad is not None
worker = threading.Thread(target=work)
worker.start()
for _ in range(6):
    child = os.fork()
    if not child:
        grandchild = os.fork()
        right = compute()
        if grandchild:
            right = right and os.waitpid(grandchild, 0)[1] == 0
        os._exit(not right)
    assert os.waitpid(child, 0)[1] == 0
busy.set()
worker.join()
print("done")
"""


@FORKS
def test_forks_and_forks_of_forks_while_another_thread_computes():
    assert output(FORK, **FORKING) == "done\n"


FIRST_USE = """
import importlib.abc, os, sys, threading, time
import numgrad as ng
begun = threading.Event()
class Watched(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numba.core.types":  # amid the import of Numba
            begun.set()
            time.sleep(0.1)  # so that the fork does not come after it
sys.meta_path.insert(0, Watched())
def compute():
    return (ng.ones(2) + 1).tolist() == [2, 2]
assert "numba" not in sys.modules
worker = threading.Thread(target=compute)
worker.start()
begun.wait()
child = os.fork()
if not child:
    os._exit(not compute())
assert os.waitpid(child, 0)[1] == 0
worker.join()
print("done")
"""


@FORKS
def test_a_fork_while_another_thread_imports_numba():
    """The child would wait for the lock of a module that no thread of its own imports."""
    assert output(FIRST_USE, **FORKING) == "done\n"


LOGGING = """
import os, threading, time
import numgrad as ng
from numba.core.compiler_lock import global_compiler_lock
begun = threading.Event()
def compile():
    with global_compiler_lock:
        begun.set()
        time.sleep(0.1)  # the fork begins meanwhile
        import logging
        logging.getLogger("compiler")
worker = threading.Thread(target=compile)
worker.start()
begun.wait()
child = os.fork()
if not child:
    os._exit((ng.ones(2) + 1).tolist() != [2, 2])
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@FORKS
def test_a_fork_while_the_compiler_logs():
    """A fork takes the locks of the compiler and of `logging`, in the order in which the compiler does."""
    assert output(LOGGING, **FORKING) == "done\n"


END_OF_CHILD = f"""
import os, sys
import numgrad as ng
ng.set_num_threads(3)
x = ng.ones({LARGE})
x + x
child = os.fork()
(x + x).sum()
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("done")
sys.exit()  # the child, too, ends as an interpreter does, with the parent's threads gone
"""


@FORKS
def test_a_forked_interpreter_ends():
    assert output(END_OF_CHILD, **FORKING) == "done\n"


PRODUCTS = """
import os, threading, time
import numgrad as ng
x = ng.ones(300, 300)
x @ x
busy = threading.Event()
def work():
    while not busy.is_set():
        assert (x @ x)[0, 0].item() == 300
workers = [threading.Thread(target=work) for _ in range(2)]
for worker in workers:
    worker.start()
for i in range(12):
    time.sleep(0.002 * (i % 4))
    child = os.fork()
    if not child:
        os._exit((x @ x)[0, 0].item() != 300)
    assert os.waitpid(child, 0)[1] == 0
busy.set()
for worker in workers:
    worker.join()
print("done")
"""


@FORKS
def test_forks_while_other_threads_multiply_matrices():
    """OpenBLAS by itself hangs: NumPy alone does, here within a few forks."""
    assert output(PRODUCTS, **FORKING) == "done\n"


def large_sum(value):
    x = ng.full((LARGE,), float(value)) * 2
    return (x + 1).sum().item()


PROCESSES = """
import multiprocessing, sys
sys.path.insert(0, {tests!r})
from test_forks import large_sum
if __name__ == "__main__":
    if {used}:
        large_sum(1)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(pool.map(large_sum, range(4)))
"""


METHODS = multiprocessing.get_all_start_methods()
POOLS = [(method, True) for method in METHODS] + [("fork", False)] * ("fork" in METHODS)


@pytest.mark.parametrize(("method", "used"), POOLS)
def test_pools_of_processes(tmp_path, method, used):
    program = tmp_path / "program.py"
    program.write_text(PROCESSES.format(tests=os.path.dirname(__file__), method=method, used=used))
    code = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    expected = [LARGE * (2.0 * value + 1) for value in range(4)]
    printed = output(code, **FORKING)
    assert [float(x) for x in printed.strip("[]\n").split(",")] == pytest.approx(expected, rel=1e-6)


START = f"""
import subprocess, sys, threading
import numgrad as ng
ng.set_num_threads(2)
def work():
    for _ in range(5):
        x = ng.ones({LARGE}) * 2
        assert (x == 2).sum().item() == {LARGE}
        subprocess.run([sys.executable, "-S", "-c", ""], check=True, preexec_fn=lambda: None)  # a fork in Python's hands
workers = [threading.Thread(target=work) for _ in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print("done")
"""


@FORKS
def test_threads_start_programs_while_others_compute():
    assert output(START, **FORKING) == "done\n"


# ---------------------------------------------------------------------------------------------------- the end
END = f"""
import atexit, threading
import numgrad as ng
ng.set_num_threads(2)
x = ng.ones({LARGE})
def late():
    assert (x + x)._array.ndarray[-1] == 2
atexit.register(late)
started = threading.Event()
def work():
    started.set()
    for _ in range({{rounds}}):
        x * x
x + x
threading.Thread(target=work, daemon={{daemon}}).start()
started.wait()
"""


@pytest.mark.parametrize(("daemon", "rounds"), [(False, 200), (True, 10**9)], ids=["thread", "daemon"])
def test_large_ops_while_the_interpreter_ends(daemon, rounds):
    for _ in range(3 if daemon else 1):
        assert output(END.format(daemon=daemon, rounds=rounds)) == ""


INTERRUPTS = f"""
import os, signal, threading, time
import numgrad as ng
ng.set_num_threads(3)
x = ng.arange({LARGE}, dtype=ng.float64)
expected = (x * 2).tolist()[-1]
over = threading.Event()
def interrupt():
    for _ in range(100):
        time.sleep(0.003)
        os.kill(os.getpid(), signal.SIGINT)
    over.set()
interrupts, armed = 0, False
def handler(number, frame):
    global interrupts, armed
    if armed:  # once, so that none comes while the last one is being handled
        interrupts, armed = interrupts + 1, False
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
threading.Thread(target=interrupt).start()
while not over.is_set():
    try:
        armed = True
        y = x * 2
        armed = False
        assert y._array.ndarray[-1] == expected and y._array.ndarray[{LARGE // 2}] == {LARGE // 2 * 2}
    except KeyboardInterrupt:
        pass
assert interrupts
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_interrupts_amid_large_ops():
    assert output(INTERRUPTS) == "done\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_an_interrupt_waits_for_the_end_of_a_compilation(tmp_path, monkeypatch):
    from numba import types

    from numgrad.kernels import cache
    from numgrad.kernels.cache import entries, place

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        write(*arguments)

    write = entries.write
    monkeypatch.setattr(entries, "write", interrupted)
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    place.directory.cache_clear()
    text = "from numba import njit\n@njit\ndef kernel(x):\n    return x + 41\n"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            cache.compiled(text, "kernel", (types.int64,))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        place.directory.cache_clear()
    assert len(list(tmp_path.rglob(f"*{entries.SUFFIX}"))) == 1
    monkeypatch.setattr(cache, "_run", None)
    assert cache.compiled(text, "kernel", (types.int64,))(1) == 42
