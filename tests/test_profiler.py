"""numgrad.profiler and numgrad.utils.progress."""

import builtins
import gzip
import io
import json
import threading

import pytest

import numgrad as ng
from numgrad.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def step():
    x = ng.ones(4, 4, requires_grad=True)
    (x * 2).exp().sum().backward()
    return x


def averages(prof):
    return {event.key: event for event in prof.key_averages()}


def test_ops_and_nodes_are_counted():
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        step()
        step()
    found = averages(prof)
    for name in ("aten::mul", "aten::exp", "aten::sum", "MulBackward0", "ExpBackward0", "SumBackward0"):
        assert found[name].count == 2
        assert found[name].cpu_time_total >= found[name].self_cpu_time_total > 0
    assert prof.key_averages().total_average().count == len(prof.events())


def test_gradients_are_those_without_a_profile():
    expected = step().grad
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True):
        found = step().grad
    assert found.equal(expected)


def test_nothing_is_watched_after_a_profile():
    from numgrad.autograd.watch import watching

    before = len(watching)
    with pytest.raises(ZeroDivisionError), profile() as prof:
        step()
        raise ZeroDivisionError
    assert len(watching) == before
    count = len(prof.events())
    step()
    assert len(prof.events()) == count > 0


def test_in_place_ops_and_views_have_the_names_of_pytorch():
    x = ng.ones(3)
    with profile() as prof:
        x.add_(1)
        x[0]
    assert "aten::add_" in averages(prof)
    assert "aten::select" in averages(prof)


def test_blocks_contain_what_ran_in_them():
    @record_function("decorated")
    def double(x):
        return x * 2

    with profile() as prof, record_function("block"):
        double(ng.ones(3))
    names = [event.name for event in prof.events() if not event.name.startswith(("compile", "load"))]
    assert names[:1] == ["block"]
    mul = next(event for event in prof.events() if event.name == "aten::mul")
    assert mul.cpu_parent.name == "decorated"
    assert mul.cpu_parent.cpu_parent.name == "block"
    block = prof.events()[0]
    assert block.time_range.start <= mul.time_range.start <= mul.time_range.end <= block.time_range.end
    assert block.is_user_annotation and not mul.is_user_annotation


def test_shapes_and_memory():
    x = ng.ones(4, 8)
    with profile(record_shapes=True, profile_memory=True) as prof:
        x + x
        x.t()
        x[:2] + x[:2]
    grouped = prof.key_averages(group_by_input_shape=True)
    adds = [(event.input_shapes, event.cpu_memory_usage) for event in grouped if event.key == "aten::add"]
    assert adds == [([[4, 8], [4, 8]], 128), ([[2, 8], [2, 8]], 64)]
    assert averages(prof)["aten::t"].cpu_memory_usage == 0
    assert "CPU Mem" in prof.key_averages().table()


def test_stacks_name_the_caller(tmp_path):
    with profile(with_stack=True) as prof:
        ng.ones(3).cos()
    event = next(event for event in prof.events() if event.name == "aten::cos")
    assert event.stack[0].startswith(__file__)
    assert event.stack[0].endswith(": test_stacks_name_the_caller")
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
    prof.export_stacks(tmp_path / "stacks")
    assert "test_stacks_name_the_caller" in (tmp_path / "stacks").read_text()


def test_flops_of_a_product():
    a, b = ng.ones(4, 5), ng.ones(5, 6)
    with profile(with_flops=True) as prof:
        a @ b
    assert sum(event.flops for event in prof.events()) == 2 * 4 * 5 * 6
    assert "Total FLOPs" in prof.key_averages().table()


def test_kernels_that_are_compiled_are_events():
    @ng.elementwise
    def never_compiled_before(x):
        return x * 3.25 + 1.5

    x = ng.ones(3)
    with profile() as prof:
        never_compiled_before(x)
    kernels = [e for e in prof.events() if e.category == "kernel"]
    assert any("never_compiled_before" in event.name for event in kernels)
    op = next(event for event in prof.events() if event.name == "aten::never_compiled_before")
    assert op.cpu_time_total >= op.compile_time_total > 0
    assert "Compile time" in prof.key_averages().table()
    with profile() as again:
        never_compiled_before(x)
    assert again.events().total_average().compile_time_total == 0


def test_table():
    with profile() as prof:
        step()
    lines = prof.key_averages().table(sort_by="count", row_limit=2, header="mine", time_unit="ms").splitlines()
    assert lines[1] == "mine"
    assert lines[3].split()[:4] == ["Name", "Self", "CPU", "%"]
    assert len(lines) == 2 + 3 + 2 + 2
    assert lines[-1].startswith("Self CPU time total: ") and lines[-1].endswith("ms")
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        prof.key_averages().table(sort_by="nothing_of_the_kind")
    top = prof.events().table(top_level_events_only=True)
    assert "This report only display top-level ops statistics" in top


def test_chrome_trace(tmp_path):
    with profile(record_shapes=True) as prof, record_function("block"):
        step()
    prof.add_metadata("run", "one")
    prof.add_metadata_json("numbers", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "trace.json")
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes())) == trace
    assert trace["run"] == "one" and trace["numbers"] == [1, 2]
    events = {event["name"]: event for event in trace["traceEvents"] if event["ph"] == "X"}
    block, exp = events["block"], events["aten::exp"]
    assert block["cat"] == "user_annotation" and exp["cat"] == "cpu_op"
    assert block["ts"] <= exp["ts"] and exp["ts"] + exp["dur"] <= block["ts"] + block["dur"]
    assert exp["args"]["Input Dims"] == [[4, 4]]
    assert "ExpBackward0" in events


def test_schedule():
    actions = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    none, warmup, record, save = ProfilerAction
    assert [actions(i) for i in range(11)] == [none, none, warmup, record, save, none, warmup, record, save, none, none]
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(wait=0, warmup=0, active=0)


@pytest.mark.parametrize("acc_events", [False, True])
def test_steps(acc_events, tmp_path):
    ready = []

    def on_trace_ready(prof):
        ready.append((prof.step_num, averages(prof)["aten::exp"].count))
        ng.profiler.tensorboard_trace_handler(str(tmp_path))(prof)

    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=on_trace_ready, acc_events=acc_events) as prof:
        for _ in range(9):
            step()
            prof.step()
    assert ready == [(4, 2), (8, 4 if acc_events else 2)]
    assert len(list(tmp_path.glob("*.pt.trace.json"))) == 2
    assert {"ProfilerStep#6", "ProfilerStep#7"} <= {event.name for event in prof.events()}


def test_other_threads_are_not_profiled():
    with profile() as prof:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert not prof.events()


def test_autograd_profiler():
    x = ng.ones(3, requires_grad=True)
    with ng.autograd.profiler.profile(record_shapes=True) as prof:
        (x * x).sum().backward()
    assert {"MulBackward0", "SumBackward0", "aten::mul"} <= {event.key for event in prof.key_averages()}
    assert prof.total_average().count == len(prof.function_events)
    assert "aten::mul" in str(prof)
    with ng.autograd.profiler.profile(enabled=False) as off:
        x * x
    assert off is None


@pytest.mark.parametrize("call", ["key_averages", "events"])
def test_results_before_a_profile(call):
    with pytest.raises(AssertionError, match="Profiler must be initialized before"):
        getattr(profile(), call)()


def test_no_activities():
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])


# ---------------------------------------------------------------------------------------------------- progress
def walk(file):
    batches = ng.utils.progress([1, 2, 3], "epoch 1", file=file)
    assert len(batches) == 3
    found = []
    for batch in batches:
        found.append(batch)
        batches.show(loss=ng.tensor(0.123456), step=batch)
    assert found == [1, 2, 3]
    return file.getvalue()


def test_progress_shows_the_loss():
    shown = walk(io.StringIO())
    assert "epoch 1: 100%" in shown and "3/3" in shown


def test_progress_without_tqdm(monkeypatch):
    real = builtins.__import__

    def without_tqdm(name, *args, **kwargs):
        if name == "tqdm":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    shown = walk(io.StringIO())
    assert shown.startswith("epoch 1: 3 batch in ") and shown.endswith("s loss=0.1235, step=3\n")
