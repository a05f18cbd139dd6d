"""The profiler beside PyTorch's: names of events, schedules, attributes of results, and refusals."""

import json

import pytest

import numgrad

torch = pytest.importorskip("torch")

LIBRARIES = (numgrad, torch)


def profiled(library):
    x = library.ones(4, 4, requires_grad=True)
    with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        with library.profiler.record_function("block"):
            y = (x * x).exp().sum()
        y.backward()
        with library.no_grad():
            library.ones(3).add_(1)
    return prof


OURS = {"block", "aten::mul", "aten::exp", "aten::sum", "aten::add_", "MulBackward0", "ExpBackward0", "SumBackward0"}


def test_events_have_pytorchs_names_and_shapes():
    prof, reference = profiled(numgrad), profiled(torch)
    ours, theirs = ({e.key: e for e in p.key_averages()} for p in (prof, reference))
    names = {name for name in ours if not name.startswith(("compile ", "load "))}
    assert names - {"aten::full"} == OURS <= set(theirs)  # `ones` is the op `full` here
    for name in ("aten::exp", "aten::sum", "ExpBackward0"):
        shapes = [next(e.input_shapes for e in p.events() if e.key == name) for p in (prof, reference)]
        assert shapes[0] == shapes[1][: len(shapes[0])], name
    assert ours["block"].is_user_annotation == theirs["block"].is_user_annotation


@pytest.mark.parametrize(
    "plan",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3, "skip_first_wait": 1},
    ],
)
def test_schedules(plan):
    ours, theirs = (library.profiler.schedule(**plan) for library in LIBRARIES)
    assert [ours(step).name for step in range(20)] == [theirs(step).name for step in range(20)]


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.schedule(wait=-1, warmup=1, active=1),
        lambda p: p.schedule(wait=0, warmup=1, active=0),
        lambda p: p.profile(activities=[]),
        lambda p: p.profile(activities=["cpu"]),
        lambda p: p.profile().events(),
        lambda p: p.profile().key_averages(),
        lambda p: p.profile().export_chrome_trace("nowhere"),
    ],
)
def test_refusals(call):
    found = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as error:
            call(library.profiler)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


def test_rows_of_the_table():
    tables = [profiled(library).key_averages().table(sort_by="cpu_time_total", row_limit=3) for library in LIBRARIES]
    ours, theirs = ([line.split() for line in table.splitlines()] for table in tables)
    heads = " ".join(ours[1]).replace("Compile time ", "")
    assert heads.replace(" Input Shapes", "") == " ".join(theirs[1]).replace(" Input Shapes", "")
    assert len(ours) == len(theirs)
    assert ours[-1][:4] == theirs[-1][:4] == ["Self", "CPU", "time", "total:"]


def test_both_traces_are_json_with_the_same_kinds_of_events(tmp_path):
    found = []
    for library in LIBRARIES:
        path = tmp_path / f"{library.__name__}.json"
        profiled(library).export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
        found.append({e["name"]: (e["ph"], e["cat"]) for e in events if e["name"] in ("block", "aten::exp", "ExpBackward0")})
    assert found[0] == found[1]
