"""Several threads: never a hang, a crash or a wrong result, nor memory that is kept.

Programs of their own have a time-out, which only bounds a hang.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from processes import output

import numgrad as ng
from numgrad.kernels import cpu, cpus, handover, threads

LARGE = threads.THRESHOLD + 3


@pytest.fixture(autouse=True)
def number_of_threads(monkeypatch):
    """Every test may set it. However busy the machine is and however short a call, workers are woken."""
    monkeypatch.setattr(threads, "MOST_SKIPPED", 0)
    monkeypatch.setattr(threads, "LONG", 0)
    threads._new_pool().stop()
    before = ng.get_num_threads()
    yield
    ng.set_num_threads(before)


# ---------------------------------------------------------------------------------------------------- results
@pytest.mark.parametrize("count", [1, 2, 5])
def test_large_tensors_on_any_number_of_threads(count):
    ng.set_num_threads(count)
    for size in (LARGE, threads.SMALLEST_CHUNK * 5 + 1):
        x = ng.arange(size, dtype=ng.float64)
        y = ng.tensor(np.arange(size) * 1.0, requires_grad=True)
        (y * y).backward(x)
        np.testing.assert_array_equal((x * 2 + 1).numpy(), np.arange(size) * 2.0 + 1)
        np.testing.assert_array_equal(y.grad.numpy(), 2.0 * np.arange(size) ** 2)


def in_threads(work, count=3, meanwhile=lambda: None):
    """Run a function in several Python threads at once; raises what any of them raised."""
    errors = []
    barrier = threading.Barrier(count)

    def guarded():
        try:
            barrier.wait()
            work()
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=guarded) for _ in range(count)]
    for worker in workers:
        worker.start()
    meanwhile()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def test_several_threads_compute_at_once_while_the_number_changes():
    def work():
        x = ng.zeros(LARGE)
        for number in range(1, 60):
            x.add_(1)  # in place: no chunk may be computed twice, or not at all
            assert (x._array.ndarray == number).all()

    def change():
        for count in range(40):
            ng.set_num_threads(1 + count % 4)

    in_threads(work, meanwhile=change)
    in_threads(change)
    assert ng.get_num_threads() == 4
    work()


def test_threads_meet_a_cold_kernel_together():
    x = ng.ones(4, dtype=ng.float64, requires_grad=True)

    def work():
        for _ in range(50):
            (x * x).sum().backward()

    in_threads(work, count=4)
    assert x.grad.tolist() == [400.0] * 4  # 4 threads x 50 x derivative 2


# ---------------------------------------------------------------------------------------------------- parts
@cpu.loop
def count_units(counts, scaled, start, stop, scale):
    for i in range(start, stop):
        counts[i] += 1
    for i in range(start * scale, min(stop * scale, scaled.shape[0])):
        scaled[i] += 1


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_unit_is_run_once(count):
    ng.set_num_threads(count)
    for units in (1, 2, 7, 8, 100, 4099):
        counts, scaled = np.zeros(units, np.int64), np.zeros(3 * units - 1, np.int64)
        for number in range(1, 20):
            count_units.in_units(counts, scaled, 0, units, 3)
            assert (counts == number).all() and (scaled == number).all()


@cpu.loop
def count_items(counts, rows, scaled, halves, number, out):
    for i in range(counts.shape[0]):
        counts[i] += number
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] += rows.size
    for i in range(scaled.shape[0]):
        scaled[i] += 1
    for i in range(halves.shape[0]):
        halves[i] += 1
    out[0] = counts.shape[0]


def test_every_kind_of_operand_is_cut_as_its_letter_says():
    ng.set_num_threads(2)
    counts, rows = np.zeros(10, np.int64), np.zeros((10, 3), np.int64)
    scaled, halves, out = np.zeros(67, np.int64), np.zeros(20, np.int64), np.zeros(1, np.int64)
    operands = (counts, rows, scaled, halves, 5, out)
    count_items(*(x.copy() if isinstance(x, np.ndarray) else x for x in operands))
    kernel = count_items._compiled[counts.dtype]
    threads.share(kernel, "vvfsww", operands, threads.LONG, 10, 4, 1, 7, 2)
    assert counts.tolist() == [5] * 10
    assert rows.tolist() == [[12] * 3] * 8 + [[6] * 3] * 2  # the parts have 4, 4 and 2 rows of 3
    assert scaled.tolist() == [1] * 67  # 7 items a unit, the last three are not there
    assert halves.tolist() == [1] * 20
    assert out[0] in (2, 4)


def test_when_no_thread_can_be_started(monkeypatch):
    def fail(self):
        raise RuntimeError("can't start new thread")

    ng.set_num_threads(1)
    ng.set_num_threads(4)
    monkeypatch.setattr(threading.Thread, "start", fail)
    x = ng.zeros(threads.SMALLEST_CHUNK * 4)
    for number in range(1, 4):
        x.add_(1)
        assert (x._array.ndarray == number).all()


def test_no_worker_compiles():
    """It could be stopped in the middle, when the interpreter ends."""
    code = f"""
import threading
import numgrad as ng
from numgrad.kernels import cache
compiled, original = set(), cache.compiled
cache.compiled = lambda *args: compiled.add(threading.current_thread().name) or original(*args)
ng.set_num_threads(3)
for _ in range(5):
    ng.ones({LARGE}) + 1
print(compiled)
"""
    assert output(code) == "{'MainThread'}\n"


def test_calls_are_not_skipped_for_ever():
    """Two threads that count the last one down at once leave less than nothing."""
    pool = threads._Pool(1)
    pool.grow(1)
    pool.skipped = -1
    assert pool.wake(1, threads.LONG)
    pool.stop()


def test_a_short_call_by_itself_wakes_nobody(monkeypatch):
    monkeypatch.setattr(threads, "LONG", 1000)
    monkeypatch.setattr(threads, "current_cpu", None)
    pool = threads._Pool(1)
    # A worker without a thread, which would fall asleep by itself.
    pool.workers, pool._is_asleep, pool._beds = [threading.Thread()], [True], [queue.SimpleQueue()]
    assert not pool.wake(1, 999)
    pool.last_end = time.perf_counter() + 100  # a call has just ended
    assert pool.wake(1, 999)
    assert pool._is_asleep == [False]
    pool._is_asleep[0], pool.last_end = True, 0.0
    assert pool.wake(1, 1000)
    assert pool._beds[0].qsize() == 2


def test_workers_that_keep_their_caller_waiting_are_left_alone_for_a_while(monkeypatch):
    monkeypatch.setattr(threads, "MOST_SKIPPED", 16)
    pool = threads._Pool(1)
    pool.grow(1)
    skipped = []
    for is_stalled in (True, True, True, True, False, True):
        pool.learn(is_stalled)
        woken = 0
        while not pool.wake(1, threads.LONG):
            woken += 1
        skipped.append(woken)
    assert skipped == [4, 8, 16, 16, 0, 16]
    pool.stop()


@cpu.loop
def fail_at(out, start, stop):
    for i in range(start, stop):
        if i == 5:
            raise ValueError("at unit 5")
        out[i] = 1


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_in_a_part_reaches_the_caller(count):
    ng.set_num_threads(count)
    out = np.zeros(8)
    for _ in range(20):
        with pytest.raises(ValueError, match="at unit 5"):
            fail_at.in_units(out, 0, 8)
        fail_at.in_units(out[:5], 0, 5)  # the pool lives on
        assert (out[:5] == 1).all()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_an_interrupted_call_waits_for_its_workers():
    job, slots = handover.new_job([]), np.zeros(2 * handover.SLOT, np.int64)
    slots[handover.SLOT] = job.ctypes.data + 1  # as if the second worker were at it
    job[:] = 0
    handover.finish()
    events = []

    def work():
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        events.append("written")
        slots[handover.SLOT] = 0

    worker = threading.Thread(target=work)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        worker.start()
        with pytest.raises(KeyboardInterrupt):
            threads._finished(job, slots)
        assert events == ["written"], "a worker wrote to the operands after the call had ended"
    finally:
        worker.join()
        signal.signal(signal.SIGINT, before)


def test_a_job_that_nobody_took_is_taken_back():
    job, slots = handover.new_job([]), np.zeros(2 * handover.SLOT, np.int64)
    job[:] = 0
    slots[0] = job.ctypes.data
    slots[handover.SLOT] = 8  # another call's
    assert handover.finish()(job, slots) == 0
    assert slots[0] == 0 and slots[handover.SLOT] == 8


def test_nothing_keeps_operands_alive():
    ng.set_num_threads(3)
    x = np.ones(LARGE)
    alive = weakref.ref(x)
    gc.disable()
    try:
        ng.from_numpy(x) + 1
        del x
        assert alive() is None
    finally:
        gc.enable()


def test_an_error_in_a_forward_frees_its_memory_with_its_traceback():
    def forward(x):
        hidden = x * 2
        alive.append(weakref.ref(hidden._array.ndarray))
        return hidden @ ng.ones(3)

    alive = []
    x = ng.ones(LARGE, requires_grad=True)
    gc.disable()
    try:
        try:
            forward(x)
        except RuntimeError as error:
            assert alive[0]() is not None
            error.__traceback__ = None
        assert alive[0]() is None
    finally:
        gc.enable()


def parts_of(size, monkeypatch):
    """The step of the parts of a flat kernel, and how many workers are to help."""
    found = []
    monkeypatch.setattr(threads, "share", lambda *arguments: found.append(arguments[-2:]))
    threads.run(lambda part: found.append((size, 0)), [np.ones(size)], size)
    return found[0]


def test_few_threads_for_few_items(monkeypatch):
    """On a machine with many CPUs a part for each would take longer to hand over than to compute."""
    monkeypatch.setattr(threads, "_threads", 64)
    assert parts_of(2 * threads.SMALLEST_CHUNK - 1, monkeypatch)[1] == 0
    assert parts_of(LARGE, monkeypatch)[1] == 1
    assert parts_of(threads.SMALLEST_CHUNK * 10, monkeypatch)[1] == 9


@pytest.mark.parametrize("count", [2, 3, 7])
def test_every_part_but_the_last_has_whole_blocks(monkeypatch, count):
    """Else its last items would be computed by the loop that takes a rest, with other last digits than on one thread."""
    monkeypatch.setattr(threads, "_threads", count)
    size = LARGE * 10 + 77
    step, workers = parts_of(size, monkeypatch)
    assert workers == count - 1
    assert step % 1024 == 0
    assert size / step >= count


# ---------------------------------------------------------------------------------------------------- how many
@pytest.mark.parametrize(
    ("value", "expected"), [("3", 3), (" 5 ", 5), ("4,2", 4), ("0", None), ("-1", None), ("many", None), ("", None)]
)
def test_the_first_number_is_that_of_openmp(monkeypatch, value, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    default = threads._initial_threads()
    assert 1 <= default <= os.cpu_count()
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads._initial_threads() == (expected or default)


def test_openmp_sets_the_number_of_a_program():
    assert output("import numgrad as ng; print(ng.get_num_threads())", OMP_NUM_THREADS="7") == "7\n"


NO_LIMIT = 1 << 30


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "5000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "max 100000\n"}, NO_LIMIT),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),
        ("0::/not/to/be/seen\n", {"cpu.max": "400000 100000\n"}, 4),
        (
            "5:cpu,cpuacct:/job\n2:memory:/job\n",
            {"cpu/job/cpu.cfs_quota_us": "250000\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
            3,
        ),
        ("5:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, NO_LIMIT),
        ("nonsense\n", {}, NO_LIMIT),
        ("0::/\n", {"cpu.max": "nonsense\n"}, NO_LIMIT),
        ("0::/\n", {}, NO_LIMIT),
        (None, {}, NO_LIMIT),
    ],
)
def test_the_share_of_a_container(tmp_path, cgroup, files, expected):
    if cgroup is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(cgroup)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert cpus.quota(tmp_path) == expected
