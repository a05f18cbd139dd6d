"""What moves items: indexing, gathering, sorting, scans, joins, copies; and reductions of the size of training."""

from collections.abc import Callable
from typing import Any

from benchmarks.case import Case, Step

Function = Callable[..., Any]


def on_matrix(
    library: Any, function: Function, rows: int = 1024, columns: int = 1024, backward: bool = False, labels: int = 0
) -> Step:
    """A function of a matrix of normal numbers, or of whole ones below `labels`; with its gradient or not."""
    library.manual_seed(0)
    x = library.randint(0, labels, (rows, columns)) if labels else library.randn(rows, columns)
    if not backward:
        return lambda: function(x)
    ones = library.ones_like(function(x))
    x.requires_grad_()

    def step() -> None:
        x.grad = None
        function(x).backward(ones)

    return step


def indexed(library: Any, which: str, backward: bool = False) -> Step:
    """Reading at an index: 8192 of 50,000 rows of 64, as many columns, pairs of a row and a column, half by a mask."""
    library.manual_seed(0)
    x = library.randn(64, 50_000) if which == "columns" else library.randn(50_000, 64)
    rows, columns = library.randint(0, 50_000, (8192,)), library.randint(0, 64, (8192,))
    index = {
        "rows": rows,
        "columns": (slice(None), rows),
        "pairs": (rows, columns),
        "mask": x > 0,
        "row mask": x[:, 0] > 0,
    }
    chosen = index[which]
    if not backward:
        return lambda: x[chosen]
    ones = library.ones_like(x[chosen])
    x.requires_grad_()

    def step() -> None:
        x.grad = None
        x[chosen].backward(ones)

    return step


def assigned(library: Any, which: str, accumulate: bool = False) -> Step:
    """Writing at an index."""
    library.manual_seed(0)
    x, rows = library.randn(50_000, 64), library.randint(0, 50_000, (8192,))
    if which == "mask":
        mask = x > 0

        def masked() -> None:
            x[mask] = 1.0

        return masked
    values = library.randn(8192, 64)
    if accumulate:
        return lambda: x.index_put_((rows,), values, accumulate=True)

    def step() -> None:
        x[rows] = values

    return step


def gathered(library: Any, dim: int, backward: bool = False) -> Step:
    """Half of the items of a (1024, 1024) tensor by indices along a dimension."""
    library.manual_seed(0)
    x = library.randn(1024, 1024)
    index = library.randint(0, 1024, (1024, 512) if dim else (512, 1024))
    if not backward:
        return lambda: x.gather(dim, index)
    ones = library.ones(index.shape)
    x.requires_grad_()

    def step() -> None:
        x.grad = None
        x.gather(dim, index).backward(ones)

    return step


def scattered(library: Any, dim: int) -> Step:
    """2^20 items added at indices along a dimension."""
    library.manual_seed(0)
    x, source, index = library.zeros(1024, 1024), library.randn(1024, 1024), library.randint(0, 1024, (1024, 1024))
    return lambda: x.scatter_add(dim, index, source)


def rows_added(library: Any) -> Step:
    """50,000 rows of 64 summed into 1,000 groups."""
    library.manual_seed(0)
    source, groups, x = library.randn(50_000, 64), library.randint(0, 1000, (50_000,)), library.zeros(1000, 64)
    return lambda: x.index_add(0, groups, source)


def joined(library: Any, dim: int, backward: bool = False) -> Step:
    """Four tensors of 2^18 items side by side along a dimension."""
    parts = [library.randn(512, 512, requires_grad=backward) for _ in range(4)]
    if not backward:
        return lambda: library.cat(parts, dim)
    ones = library.ones_like(library.cat(parts, dim).detach())

    def step() -> None:
        for part in parts:
            part.grad = None
        library.cat(parts, dim).backward(ones)

    return step


def images_copied(library: Any) -> Step:
    """The channels of 32 images of (64, 28, 28) moved last."""
    x = library.randn(32, 64, 28, 28)
    return lambda: x.permute(0, 2, 3, 1).contiguous()


def heads_copied(library: Any) -> Step:
    """(32, 128, 8, 64) with its heads moved forward, as attention does it."""
    x = library.randn(32, 128, 8, 64)
    return lambda: x.transpose(1, 2).contiguous()


def divided(library: Any, name: str) -> Step:
    """A division with a rounded quotient, of 2^20 pairs."""
    library.manual_seed(0)
    a, b = library.randn(2**20) * 100, library.rand(2**20) + 0.5
    function = getattr(library, name)
    return lambda: function(a, b)


def reduced(name: str) -> Function:
    """A reduction, or softmax, along one dimension, as (x, dim) -> tensor."""
    return lambda x, dim: getattr(x, name)(dim)


REDUCTIONS = ("sum", "mean", "var", "amax", "logsumexp", "softmax")
TRAINED = ("mean", "var", "logsumexp", "softmax")
AXES = (("rows", 1), ("columns", 0))

CASES = [
    *(
        Case(f"x[{which}]", lambda library, which=which: indexed(library, which))
        for which in ("rows", "columns", "pairs", "mask", "row mask")
    ),
    *(
        Case(f"x[{which}] + backward", lambda library, which=which: indexed(library, which, True))
        for which in ("rows", "pairs", "mask")
    ),
    *(Case(f"x[{which}] = v", lambda library, which=which: assigned(library, which)) for which in ("rows", "mask")),
    Case("index_put_ accumulate", lambda library: assigned(library, "rows", accumulate=True)),
    *(Case(f"gather {axis}", lambda library, dim=dim: gathered(library, dim)) for axis, dim in AXES),
    *(Case(f"gather {axis} + backward", lambda library, dim=dim: gathered(library, dim, True)) for axis, dim in AXES),
    *(Case(f"scatter_add {axis}", lambda library, dim=dim: scattered(library, dim)) for axis, dim in AXES),
    Case("index_add of 50,000 rows", rows_added),
    Case("sort 2^20", lambda library: on_matrix(library, lambda x: x.sort(), 1, 2**20)),
    *(Case(f"sort {axis}", lambda library, dim=dim: on_matrix(library, lambda x: x.sort(dim))) for axis, dim in AXES),
    *(
        Case(
            f"argsort {axis}, int64", lambda library, dim=dim: on_matrix(library, lambda x: x.argsort(dim), labels=1000)
        )
        for axis, dim in AXES
    ),
    Case("topk 10 of 4096x1024", lambda library: on_matrix(library, lambda x: x.topk(10), 4096)),
    Case("topk 10 of 2^20", lambda library: on_matrix(library, lambda x: x.topk(10), 1, 2**20)),
    Case("median of rows", lambda library: on_matrix(library, lambda x: x.median(1))),
    Case(
        "unique with counts",
        lambda library: on_matrix(
            library, lambda x: library.unique(x, return_inverse=True, return_counts=True), labels=1000
        ),
    ),
    *(
        Case(f"{name} {axis}", lambda library, name=name, dim=dim: on_matrix(library, lambda x: getattr(x, name)(dim)))
        for name in ("cumsum", "cumprod", "cummax", "logcumsumexp")
        for axis, dim in AXES
    ),
    *(
        Case(
            f"cumsum {axis} + backward",
            lambda library, dim=dim: on_matrix(library, lambda x: x.cumsum(dim), backward=True),
        )
        for axis, dim in AXES
    ),
    *(Case(f"cat {dim}", lambda library, dim=dim: joined(library, dim)) for dim in (0, 1)),
    *(Case(f"cat {dim} + backward", lambda library, dim=dim: joined(library, dim, True)) for dim in (0, 1)),
    Case("transposed copy 1024x1024", lambda library: on_matrix(library, lambda x: x.t().contiguous())),
    Case("channels copied last", images_copied),
    Case("heads copied forward", heads_copied),
    Case("flip rows", lambda library: on_matrix(library, lambda x: x.flip(1))),
    Case("roll", lambda library: on_matrix(library, lambda x: x.roll((3, 5), (0, 1)))),
    Case("tril", lambda library: on_matrix(library, lambda x: x.tril())),
    Case("nonzero", lambda library: on_matrix(library, lambda x: x.nonzero(), labels=2)),
    Case("bincount 2^20", lambda library: on_matrix(library, lambda x: x.view(-1).bincount(), labels=1000)),
    Case("masked_fill", lambda library: on_matrix(library, lambda x: x.masked_fill(x > 0, 0.0))),
    Case("where", lambda library: on_matrix(library, lambda x: library.where(x > 0, x, 0.0))),
    *(
        Case(f"{name} 2^20", lambda library, name=name: divided(library, name))
        for name in ("remainder", "fmod", "floor_divide")
    ),
    *(
        Case(
            f"{name} {axis}, 4096x1024",
            lambda library, name=name, dim=dim: on_matrix(library, lambda x: reduced(name)(x, dim), 4096),
        )
        for name in REDUCTIONS
        for axis, dim in AXES
    ),
    *(
        Case(
            f"{name} {axis} + backward, 4096x1024",
            lambda library, name=name, dim=dim: on_matrix(
                library, lambda x: reduced(name)(x, dim), 4096, backward=True
            ),
        )
        for name in TRAINED
        for axis, dim in AXES
    ),
    *(
        Case(f"{name} of 4096x1024", lambda library, name=name: on_matrix(library, lambda x: getattr(x, name)(), 4096))
        for name in ("sum", "mean", "var", "amax", "prod", "norm", "argmax")
    ),
]
