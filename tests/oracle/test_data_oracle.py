"""Datasets, samplers and loaders: the same lines here and in PyTorch give the same values, errors and warnings.

Random orders differ by nature; where they matter, the test says what is compared.
"""

from __future__ import annotations

import pytest
from side_by_side import shown, snippets

import numgrad as ng

torch = pytest.importorskip("torch")

# Classes for the snippets, made from either library.
PRELUDE = """
from collections import namedtuple, OrderedDict, UserDict, defaultdict
import copy, warnings
data = torch.utils.data
from_loader = lambda *a, **k: list(data.DataLoader(*a, **k))
class Squares(data.Dataset):
    def __init__(self, n=5): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        if i >= self.n: raise IndexError(i)
        return i * i
class Many(Squares):
    def __getitems__(self, indices): return [(-i, i) for i in indices]
class Stream(data.IterableDataset):
    def __init__(self, n=7, told=None): self.n, self.told = n, n if told is None else told
    def __iter__(self): return iter(range(self.n))
    def __len__(self): return self.told
class Endless(data.IterableDataset):
    def __iter__(self): return iter(range(3))
class Parted(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(20)) if info is None else iter(range(info.id, 10 + 3 * info.id, info.num_workers))
class Raising(Squares):
    def __init__(self, error, at=2): self.n, self.error, self.at = 5, error, at
    def __getitem__(self, i):
        if i == self.at: raise self.error
        return i
Point = namedtuple("Point", ["x", "y"])
class Shape(tuple): pass
class OwnList(list): pass
x = torch.arange(12.).reshape(4, 3); y = torch.arange(4)
def first_lines(f):
    try: return f()
    except Exception as e: return type(e).__name__, str(e).splitlines()[0], str(e).splitlines()[-1]
"""

DATASETS = snippets("""
out = data.TensorDataset(x, y)[1], len(data.TensorDataset(x)), data.TensorDataset(x, y)[1:3], data.TensorDataset(x, y)[[0, 2]]
out = data.TensorDataset(x, torch.arange(3))
out = data.TensorDataset(x, y)[4]
out = data.TensorDataset(x, y)[-1]
out = data.TensorDataset()
out = hasattr(data.TensorDataset(x), "__getitems__"), hasattr(Squares(), "__getitems__")
out = data.Dataset()[0]
out = len(data.Dataset())
out = data.Dataset[int], isinstance(data.Dataset[int](), data.Dataset)
out = data.StackDataset(Squares(), data.TensorDataset(y[:4], y))
out = data.StackDataset(Squares(4), data.TensorDataset(y))[2], len(data.StackDataset(Squares(4), y))
out = data.StackDataset(a=Squares(4), b=y)[2], data.StackDataset(a=Many(4), b=y).__getitems__([0, 3])
out = data.StackDataset(Squares(4), y).__getitems__([0, 3]), data.StackDataset(Many(4), Squares(4)).__getitems__([])
out = data.StackDataset(Squares(4), b=y)
out = data.StackDataset()
out = data.StackDataset(a=Squares(4), b=Squares(3))
class Wrong(Squares):⏎    def __getitems__(self, i): return []⏎out = data.StackDataset(Wrong(4)).__getitems__([0, 3])
out = [(c := Squares(3) + Squares(2))[i] for i in range(-5, 5)], len(c), c.cumulative_sizes
out = (Squares(3) + Squares(2))[-6]
out = (Squares(3) + Squares(2))[5]
out = data.ConcatDataset([]), 1
out = data.ConcatDataset([Squares(), Stream()])
out = data.ConcatDataset(iter([Squares(2), Squares(3)])).cumulative_sizes, data.ConcatDataset.cumsum([[1], [1, 2]])
out = (Squares(3) + Squares(2)).cummulative_sizes
out = list(Stream(2) + Stream(3)), len(Stream(2) + Stream(3)), type(Stream() + Stream()).__name__
out = list(data.ChainDataset([Stream(), Squares()]))
out = len(data.ChainDataset([Stream(), Squares()]))
out = [s[i] for s in [data.Subset(Squares(), [3, 1])] for i in (0, 1, -1)], len(data.Subset(Squares(), [3, 1]))
out = data.Subset(Squares(), [3, 1])[2]
out = data.Subset(x, [3, 1])[[0, 1]], data.Subset(Squares(), [3, 1]).__getitems__([1, 0]), data.Subset(Many(), [3, 1]).__getitems__([1])
class Own(data.Subset):⏎    def __getitem__(self, i): return 1⏎out = Own(x, [0])
class Own(data.Subset):⏎    def __getitem__(self, i): return 1⏎    def __getitems__(self, i): return [1 for _ in i]⏎out = from_loader(Own(x, [0, 1]), 2)
out = [len(p) for p in data.random_split(range(10), [3, 7])], sorted(i for p in data.random_split(range(10), [3, 7]) for i in p.indices)
out = [len(p) for p in data.random_split(range(10), [0.3, 0.3, 0.4])], [len(p) for p in data.random_split(range(11), [0.5, 0.5])]
out = [len(p) for p in data.random_split(range(7), [0.25] * 4)], [type(p).__name__ for p in data.random_split(range(2), [1, 1])]
out = data.random_split(range(10), [3, 6])
out = data.random_split(range(10), [1.5, -0.5])
out = [len(p) for p in data.random_split(range(3), [0.9, 0.1])]
out = [len(p) for p in data.random_split(range(1), [1])], [len(p) for p in data.random_split(range(10), [1.0])]
a, b = [[p.indices for p in data.random_split(range(30), [0.3, 0.3, 0.4], generator=torch.Generator().manual_seed(4))] for _ in range(2)]⏎out = a == b
""")

SAMPLERS = snippets("""
out = list(data.SequentialSampler(range(4))), len(data.SequentialSampler(range(4)))
out = iter(data.Sampler())
out = len(data.Sampler())
out = data.Sampler()
s = data.RandomSampler(range(40))⏎out = sorted(s) == list(range(40)), len(s), s.num_samples, s.replacement, list(s) != list(s)
s = data.RandomSampler(range(5), num_samples=12)⏎l = list(s)⏎out = len(l), sorted(l[:5]), sorted(l[5:10]), len(set(l[10:]))
s = data.RandomSampler(range(5), replacement=True, num_samples=70)⏎l = list(s)⏎out = len(l), len(s), set(l) <= set(range(5))
out = data.RandomSampler(range(5), replacement=1)
out = data.RandomSampler(range(5), num_samples=0)
out = data.RandomSampler(range(5), num_samples=2.0)
out = data.RandomSampler(range(0))
out = data.RandomSampler([], num_samples=-1)
torch.manual_seed(3); a = list(data.RandomSampler(range(20))); b = list(data.RandomSampler(range(20)))⏎torch.manual_seed(3)⏎out = a == list(data.RandomSampler(range(20))), a == b
g = torch.Generator().manual_seed(1)⏎s = data.RandomSampler(range(20), generator=g)⏎a, b = list(s), list(s)⏎g.manual_seed(1)⏎out = a == list(s), a == b, s.generator is g
torch.manual_seed(3)⏎it = iter(data.RandomSampler(range(20)))⏎torch.manual_seed(4)⏎a = list(it)⏎torch.manual_seed(4)⏎out = a == list(data.RandomSampler(range(20)))
out = sorted(data.SubsetRandomSampler([7, 5, 3])), len(data.SubsetRandomSampler([7, 5, 3]))
s = data.WeightedRandomSampler([0, 1, 0, 0], 6)⏎out = list(s), len(s), s.weights
out = sorted(data.WeightedRandomSampler([0.1, 0.9, 0.4], 3, replacement=False)), data.WeightedRandomSampler(torch.ones(3), 2).weights
out = list(data.WeightedRandomSampler([0.1, 0.9], 3, replacement=False))
out = data.WeightedRandomSampler([0.1], 0)
out = data.WeightedRandomSampler([0.1], True)
out = data.WeightedRandomSampler([0.1], 1, replacement=1)
out = data.WeightedRandomSampler([[0.1]], 1)
out = list(data.BatchSampler(range(7), 3, False)), list(data.BatchSampler(range(7), 3, True)), list(data.BatchSampler("abcde", 2, False))
out = len(data.BatchSampler(range(7), 3, False)), len(data.BatchSampler(range(7), 3, True)), list(data.BatchSampler([], 3, True))
out = list(data.BatchSampler(data.SequentialSampler(range(6)), 3, True))
out = data.BatchSampler(range(7), 0, False)
out = data.BatchSampler(range(7), True, False)
out = data.BatchSampler(range(7), 2.0, False)
out = data.BatchSampler(range(7), 2, 1)
out = len(data.BatchSampler(iter(range(7)), 2, True))
out = [list(data.DistributedSampler(range(10), 3, r, shuffle=False)) for r in range(3)]
out = [list(data.DistributedSampler(range(10), 3, r, shuffle=False, drop_last=True)) for r in range(3)]
out = [list(data.DistributedSampler(range(2), 5, r, shuffle=False)) for r in range(5)], [list(data.DistributedSampler(range(2), 5, r, shuffle=False, drop_last=True)) for r in range(5)]
s = data.DistributedSampler(range(10), 3, 1, drop_last=True)⏎out = len(s), s.total_size, s.num_samples, s.epoch, s.seed, s.shuffle
a = [list(data.DistributedSampler(range(9), 3, r, seed=5)) for r in range(3)]⏎out = sorted(sum(a, [])), a == [list(data.DistributedSampler(range(9), 3, r, seed=5)) for r in range(3)]
s = data.DistributedSampler(range(30), 3, 1)⏎a = list(s)⏎s.set_epoch(1)⏎b = list(s)⏎s.set_epoch(0)⏎out = a == list(s), a == b
out = data.DistributedSampler(range(10), 3, 3)
out = data.DistributedSampler(range(10), 3, -1)
""")

LOADERS = snippets("""
out = from_loader(data.TensorDataset(x, y), 3)
out = from_loader(data.TensorDataset(x, y), batch_size=3, drop_last=True)
out = from_loader(data.TensorDataset(x, y), batch_size=None)
out = from_loader(data.Subset(data.TensorDataset(x, y), [3, 0, 1]), 2)
out = from_loader(data.TensorDataset(x.requires_grad_()), 2)
out = from_loader(data.TensorDataset(x, y), 2, sampler=[3, 2, 0]), from_loader(data.TensorDataset(x, y), batch_sampler=[[0, 1], [3]])
out = from_loader(data.TensorDataset(x, y), batch_sampler=[(0, 1), torch.tensor([3, 0]).tolist()], collate_fn=lambda s: s)
out = from_loader(data.TensorDataset(x, y), sampler=[[0, 1], [3, 2]], batch_size=None)
out = from_loader(data.TensorDataset(x, y), sampler=torch.randperm(4).sort()[0], batch_size=2)
out = from_loader(data.TensorDataset(x, y), sampler=[4])
out = from_loader(Squares(), 2), from_loader(range(3)), from_loader([1.5, 2.5], 2), from_loader({"a": 1, 0: 2, 1: 3}, 2, sampler=["a", 0])
out = from_loader(Many(), 2), from_loader(Many(), batch_size=None), from_loader([], 2), from_loader(["a", "b"], 2), from_loader([b"a"], 2)
out = from_loader(Stream(), 3), from_loader(Stream(), 3, drop_last=True), from_loader(Stream(2), batch_size=None), from_loader(Endless(), 2)
out = from_loader(Squares(), 2, num_workers=2), from_loader(Squares(), batch_size=None, num_workers=1)
out = from_loader(Parted(), 2, num_workers=2), from_loader(Parted(), 3, num_workers=2, prefetch_factor=1, drop_last=True), from_loader(Parted(), None, num_workers=2)
out = from_loader(data.TensorDataset(x, y), 3, collate_fn=len), from_loader(data.TensorDataset(x, y), 3, collate_fn=list)
out = sorted(int(b) for b in data.DataLoader(Squares(), shuffle=True)), sorted(int(b) for b in data.DataLoader(Squares(), shuffle=True, num_workers=2, in_order=False))
l = data.DataLoader(Squares(), 2)⏎out = len(l), l.batch_size, l.drop_last, l.num_workers, l.prefetch_factor, l.timeout, l.pin_memory, l.persistent_workers, l.generator, type(l.sampler).__name__, type(l.batch_sampler).__name__, l.collate_fn is data.default_collate, l.in_order, l.pin_memory_device, l.worker_init_fn, l.multiprocessing_context
l = data.DataLoader(Squares(), None, shuffle=True, num_workers=2)⏎out = len(l), l.batch_size, l.prefetch_factor, type(l.sampler).__name__, l.batch_sampler, l.collate_fn is data.default_convert
l = data.DataLoader(Squares(), batch_sampler=[[1]], num_workers=2, prefetch_factor=7)⏎out = len(l), l.batch_size, l.drop_last, l.prefetch_factor, l.batch_sampler
out = len(data.DataLoader(Stream(7), 2)), len(data.DataLoader(Stream(7), 2, drop_last=True)), len(data.DataLoader(Stream(7), None))
out = len(data.DataLoader(Endless(), 2))
out = len(data.DataLoader(Squares(), 2, sampler=iter([1])))
l = data.DataLoader(Stream(4, told=2), None)⏎len(l)⏎out = list(l)[:2]
l = data.DataLoader(Stream(4, told=2), 3, num_workers=2)⏎len(l)⏎out = len(list(l))
it = iter(data.DataLoader(Squares(), 2))⏎out = len(it), next(it), iter(it) is it
it = iter(data.DataLoader(range(1)))⏎next(it)⏎out = next(it, "end"), next(it, "end")
it = iter(data.DataLoader(range(1), num_workers=1))⏎next(it)⏎out = next(it, "end"), next(it, "end")
import pickle⏎out = pickle.dumps(iter(data.DataLoader(range(1))))
torch.manual_seed(1)⏎l = data.DataLoader(range(20), 4, shuffle=True)⏎a = [b.tolist() for b in l]⏎b = [b.tolist() for b in l]⏎torch.manual_seed(1)⏎out = a == [b.tolist() for b in l], a == b
a, b = ([b.tolist() for b in data.DataLoader(range(20), 4, shuffle=True, num_workers=w, generator=torch.Generator().manual_seed(2))] for w in (0, 2))⏎out = a == b
out = from_loader(Squares(), pin_memory=True)[0]
out = from_loader(Squares(), pin_memory=True, pin_memory_device="cuda")[0]
seen = []⏎out = from_loader(Squares(1), num_workers=1, worker_init_fn=lambda i: None), data.get_worker_info()
class D(Squares):⏎    def __getitem__(self, i):⏎        w = data.get_worker_info()⏎        return w.id, w.num_workers, w.seed == torch.initial_seed(), type(w.dataset).__name__, w.dataset.n⏎out = from_loader(D(4), 2, num_workers=2)
class D(Squares):⏎    def __getitem__(self, i): return data.get_worker_info().seed⏎l = data.DataLoader(D(4), 1, num_workers=2)⏎a, b = ([int(s) for s in l] for _ in range(2))⏎out = a[1] - a[0], a[2] - a[0], a != b
def start(i): w = data.get_worker_info(); w.dataset.n = 3 + i; w.dataset.told = 9⏎out = from_loader(Stream(), 2, num_workers=2, worker_init_fn=start)
""")

ERRORS = snippets("""
out = data.DataLoader(Squares(), num_workers=-1)
out = data.DataLoader(Squares(), timeout=-1)
out = data.DataLoader(Squares(), prefetch_factor=2)
out = data.DataLoader(Squares(), num_workers=1, prefetch_factor=-2)
out = data.DataLoader(Squares(), persistent_workers=True)
out = data.DataLoader(Stream(), shuffle=True)
out = data.DataLoader(Stream(), shuffle=False).batch_size
out = data.DataLoader(Stream(), sampler=[1])
out = data.DataLoader(Stream(), batch_sampler=[[1]])
out = data.DataLoader(Squares(), shuffle=True, sampler=[1])
out = data.DataLoader(Squares(), batch_size=2, batch_sampler=[[1]])
out = data.DataLoader(Squares(), shuffle=True, batch_sampler=[[1]])
out = data.DataLoader(Squares(), drop_last=True, batch_sampler=[[1]])
out = data.DataLoader(Squares(), sampler=[1], batch_sampler=[[1]])
out = data.DataLoader(Squares(), batch_size=None, drop_last=True)
out = data.DataLoader(Squares(), batch_size=0)
out = data.DataLoader(Squares(), batch_size="2")
out = data.DataLoader(Squares(), drop_last=1)
out = data.DataLoader([], shuffle=True)
out = data.DataLoader(Squares(), multiprocessing_context="spawn")
out = data.DataLoader(Squares(), num_workers=1, multiprocessing_context="x")
out = data.DataLoader(Squares(), num_workers=1, multiprocessing_context=5)
out = data.DataLoader(Squares(), num_workers=1, multiprocessing_context="spawn").multiprocessing_context.get_start_method()
out = next(iter(data.DataLoader(Squares(), timeout=1)))
out = data.DataLoader(5)
l = data.DataLoader(Squares())⏎l.batch_size = 2
l = data.DataLoader(Squares())⏎l.dataset = 2
l = data.DataLoader(Squares())⏎l.num_workers = 0; l.timeout = 3; l.collate_fn = len⏎out = l.timeout
out = from_loader(Raising(ValueError("no")), 2)
out = first_lines(lambda: from_loader(Raising(ValueError("no")), 2, num_workers=1))
out = first_lines(lambda: from_loader(Raising(KeyError("no")), 2, num_workers=1))
it = iter(data.DataLoader(Raising(ValueError("no"), at=1)))⏎out = [first_lines(lambda: next(it)) for _ in range(5)]
out = first_lines(lambda: from_loader([object()], 1))
out = first_lines(lambda: from_loader([object(), object()], 1, num_workers=1))
""")

COLLATE = snippets("""
out = data.default_collate([1, 2]), data.default_collate([1.5, 2]), data.default_collate([True, False]), data.default_collate(["a", "b"]), data.default_collate((b"a",))
out = data.default_collate([torch.ones(2), torch.zeros(2)]), data.default_collate((torch.tensor(1), torch.tensor(2)))
out = data.default_collate([torch.ones(2), torch.zeros(3)])
out = data.default_collate([1, 2.5])
out = data.default_collate([(0, 1.5), (2, 3.5)]), data.default_collate([[0, "a"], [2, "b"]]), data.default_collate([Point(0, 1.), Point(2, 3.)])
out = data.default_collate([{"a": 0, "b": [1, 2]}, {"a": 2, "b": [3, 4], "c": 5}])
out = data.default_collate([{"a": 0}, {"b": 2}])
out = data.default_collate([OrderedDict(a=1), OrderedDict(a=2)]), data.default_collate([defaultdict(int, a=1), defaultdict(int, a=2)])
out = data.default_collate([UserDict(a=1), UserDict(a=2)])
out = data.default_collate([OwnList([1, 2]), OwnList([3, 4])]), type(data.default_collate([OwnList([1, 2])])).__name__
out = data.default_collate([range(2), range(2)]), data.default_collate([Shape((1, 2)), Shape((3, 4))])
out = data.default_collate([(1, 2), (3,)])
out = data.default_collate([[1, 2], [3, 4, 5]])
out = data.default_collate([[], []]), data.default_collate([(), ()]), data.default_collate([{}, {}])
out = data.default_collate([])
out = data.default_collate([None, None])
out = data.default_collate([object])
out = data.default_collate([{1, 2}])
out = data.default_collate([np.ones(2), np.zeros(2)]), data.default_collate([np.float32(1), np.float32(2)]), data.default_collate([np.int8(1)]), data.default_collate([np.bool_(True)])
out = data.default_collate([np.float64(1.5), np.float64(2)]), data.default_collate([np.arange(4).reshape(2, 2)[:, 0]] * 2)
out = data.default_collate([np.array("a")])
out = data.default_collate([np.array(None)])
out = data.default_collate([np.str_("a"), np.str_("b")])
out = data.default_collate([np.array(1.5), np.array(2.5)])
out = data.default_convert(np.arange(3)), data.default_convert(5), data.default_convert("a"), data.default_convert(np.float32(2)), data.default_convert(np.str_("a"))
out = data.default_convert({"a": np.ones(1), "b": (np.zeros(1), 3)}), data.default_convert(Point(np.ones(1), 0)), data.default_convert(np.array(["a"]))
out = data.default_convert([np.ones(1), [np.ones(1)]]), data.default_convert(range(2)), data.default_convert((1, np.ones(1))), data.default_convert(None), data.default_convert(OwnList([np.ones(1)]))
source = {"a": np.ones(1)}⏎data.default_convert(source); data.default_collate([source])⏎out = type(source["a"]).__name__
from_map = data._utils.collate.collate⏎out = from_map([1, 2], collate_fn_map={int: lambda batch, *, collate_fn_map=None: sum(batch)}), from_map([(1, 2), (3, 4)], collate_fn_map={int: lambda batch, *, collate_fn_map=None: list(batch)})
out = data._utils.collate.collate([1, 2])
m = data._utils.collate.default_collate_fn_map⏎m[set] = lambda batch, *, collate_fn_map=None: set.union(*batch)⏎out = data.default_collate([{1}, {2}]), from_loader([({1}, 2), ({3}, 4)], 2)⏎del m[set]
m = data._utils.collate.default_collate_fn_map⏎old = m[torch.Tensor]⏎m[torch.Tensor] = lambda batch, *, collate_fn_map=None: len(batch)⏎out = from_loader(data.TensorDataset(x, y), 3)⏎m[torch.Tensor] = old
""")  # fmt: skip


@pytest.mark.parametrize("snippet", [*DATASETS, *SAMPLERS, *LOADERS, *ERRORS, *COLLATE])
def test_as_in_pytorch(snippet):
    program = PRELUDE + snippet
    assert shown(ng, program) == shown(torch, program)


def test_names():
    """All names of `torch.utils.data` but those of data pipes, which PyTorch has given up."""
    data_pipes = {
        "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "_DatasetKind", "argument_validation",
        "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
        "runtime_validation_disabled",
    }  # fmt: skip
    assert set(ng.utils.data.__all__) == set(torch.utils.data.__all__) - data_pipes
