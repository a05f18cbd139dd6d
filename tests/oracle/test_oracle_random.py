"""Random functions against PyTorch: shapes, dtypes, strides, nodes, gradients, errors. The numbers themselves differ."""

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

SHAPES_AND_DTYPES = """
out = torch.rand(2, 3).shape, torch.rand((2, 3)).shape, torch.rand(size=(2, 3)).shape, torch.rand(()).shape, torch.rand(0, 2).shape
out = torch.randn(2, dtype=torch.float64).dtype, torch.randn([2, 3]).shape, torch.randn(size=(4,)).dtype
out = torch.rand(2, requires_grad=True).requires_grad, torch.randn(2, dtype=torch.float64, requires_grad=True).is_leaf
out = torch.randint(3, (2, 3)).dtype, torch.randint(0, 3, (2,)).shape, torch.randint(high=3, size=(2,)).shape
out = torch.randint(low=0, high=3, size=(2,)).dtype, torch.randint(0, 3, size=(2,)).shape, torch.randint(5, size=(1,)).shape
out = torch.randint(0, 3, (2,), dtype=torch.float32).dtype, torch.randint(0, 256, (2,), dtype=torch.uint8).dtype, torch.randint(0, 2, (2,), dtype=torch.bool).dtype
out = torch.randint(torch.tensor(3), (2,)).shape, torch.randint(0, 3, (2,), dtype=torch.float64, requires_grad=True).requires_grad
out = torch.rand_like(torch.zeros(2, 3).t()).stride(), torch.randn_like(torch.zeros(2, dtype=torch.float64)).dtype, torch.rand_like(torch.zeros(2, dtype=torch.int64), dtype=torch.float32).dtype
out = torch.randint_like(torch.zeros(2, 3), 4).dtype, torch.randint_like(torch.zeros(2, 3), 2, 4).shape, torch.randint_like(torch.zeros(2, 3), 2, 4, dtype=torch.int64).dtype
out = torch.randint_like(torch.zeros(2), low=0, high=3).shape
out = torch.randperm(5).dtype, torch.randperm(5, dtype=torch.float32).dtype, torch.randperm(0), torch.randperm(1), torch.randperm(3, dtype=torch.int32).sum()
out = torch.normal(0, 1, size=(2, 3)).shape, torch.normal(mean=0.0, std=1.0, size=(3,), dtype=torch.float64).dtype, torch.normal(2, torch.ones(3)).shape
out = torch.normal(torch.zeros(3, 1), torch.ones(2)).shape, torch.normal(torch.arange(3.0), 1).shape, torch.normal(torch.zeros(2)).shape
out = torch.normal(torch.zeros(3, dtype=torch.float64), torch.ones(3)).dtype, torch.normal(torch.zeros(3), torch.ones(3, dtype=torch.float64)).dtype, torch.normal(0, torch.ones(2, dtype=torch.float64)).dtype
out = torch.normal(torch.arange(3.0), torch.zeros(3)), torch.normal(2.5, 0.0, (2,)), torch.normal(1, torch.zeros(2)), torch.normal(torch.arange(2.0), 0)
out = torch.normal(0.0, 1.0, (2,), requires_grad=True).requires_grad
out = torch.bernoulli(torch.tensor([0.0, 1.0])), torch.bernoulli(torch.tensor([1, 2]), 1.0), torch.zeros(3, dtype=torch.bool).bernoulli(1.0), torch.bernoulli(torch.tensor(1.0))
out = torch.zeros(3).bernoulli_(torch.tensor([1.0, 0.0, 1.0])), torch.zeros(3, dtype=torch.int64).bernoulli_(torch.tensor([1.0, 0.0, 1.0])), torch.zeros(2, 3).bernoulli_(torch.tensor([1.0, 0.0, 1.0])), torch.zeros(3).bernoulli_(torch.tensor(1.0, dtype=torch.float64))
out = torch.multinomial(torch.tensor([0.0, 2.0, 0.0]), 1), torch.multinomial(torch.tensor([[0.0, 1.0], [3.0, 0.0]]), 4, True), torch.multinomial(torch.ones(3), 3).sort().values if hasattr(torch.Tensor, "sort") else torch.arange(3)
out = torch.multinomial(torch.ones(0, 2), 2, True).shape, torch.multinomial(torch.ones(3, requires_grad=True), 1, True).requires_grad, torch.multinomial(torch.ones(2, 3), 2, replacement=True).dtype
out = torch.poisson(torch.zeros(2)), torch.poisson(torch.tensor([5.0], dtype=torch.float64)).dtype
out = torch.zeros(2).uniform_(3, 3), torch.zeros(2).uniform_(to=0), torch.zeros(2).normal_(2, 0), torch.zeros(2).normal_(mean=1, std=0), torch.zeros(2).random_(1), torch.zeros(2).random_(3, 4), torch.zeros(2, dtype=torch.int8).random_(3, 4)
out = torch.zeros(2).uniform_(**{"from": 1, "to": 1}), torch.zeros(2).random_(**{"from": 1, "to": 2}), torch.zeros(2).random_(to=1)
out = torch.zeros(2, dtype=torch.int64).geometric_(0.999999999999), torch.zeros(2).exponential_(float("inf"))
out = torch.zeros(3).uniform_(0, torch.tensor(0.0)), torch.zeros(0).uniform_(), torch.zeros(0, 2).normal_()
x = torch.zeros(3)⏎out = [getattr(x, f)() is x for f in ("uniform_", "normal_", "log_normal_", "exponential_", "cauchy_", "random_", "bernoulli_")], x._version
x = torch.zeros(2, 3)⏎x[:, 1].uniform_(5, 5)⏎out = x, x._version
out = torch.rand(2, 3, out=torch.zeros(2, 3, dtype=torch.float64)).dtype, torch.randperm(3, out=torch.zeros(3, dtype=torch.int64)).sum(), torch.normal(torch.arange(2.0), 0.0, out=torch.zeros(2)), torch.bernoulli(torch.ones(2), out=torch.zeros(2))
"""

GRAPH = """
y = torch.ones(3, requires_grad=True) * 1⏎out = y.uniform_().grad_fn.name(), y.grad_fn.next_functions[0][0].name(), len(y.grad_fn.next_functions)
y = torch.ones(3, requires_grad=True) * 1⏎out = [getattr(y, f)(*a).grad_fn.name() for f, a in (("normal_", ()), ("log_normal_", ()), ("exponential_", ()), ("geometric_", (0.5,)), ("cauchy_", ()), ("random_", ()), ("random_", (5,)), ("random_", (2, 5)), ("bernoulli_", ()), ("bernoulli_", (torch.ones(3),)))]
y = torch.ones(3, requires_grad=True) * 1⏎p = torch.full((3,), 0.5, requires_grad=True)⏎y.bernoulli_(p).sum().backward()⏎out = p.grad, [f[0].name() for f in y.grad_fn.next_functions]
x = torch.ones(3, requires_grad=True)⏎y = x * 2⏎y[:2].normal_()⏎y.sum().backward()⏎out = x.grad, y.grad_fn.name()
x = torch.ones(3, requires_grad=True)⏎y = x * 2⏎z = y * y⏎y.uniform_()⏎z.sum().backward()
a = torch.ones(3, 1, requires_grad=True)⏎b = torch.ones(2, requires_grad=True)⏎z = torch.normal(a, b)⏎z.sum().backward()⏎out = a.grad, b.grad, z.grad_fn.name()
a = torch.ones(3, requires_grad=True)⏎z = torch.normal(a, 2.0)⏎z.sum().backward()⏎out = a.grad, z.grad_fn.name(), torch.normal(2.0, a).grad_fn.name(), torch.normal(a, torch.ones(3)).grad_fn.name()
p = torch.tensor([0.5, 1.0], requires_grad=True)⏎z = torch.bernoulli(p)⏎z.sum().backward()⏎out = p.grad, z.grad_fn.name()
p = torch.tensor([0.5, 1.0], requires_grad=True)⏎z = torch.poisson(p)⏎z.sum().backward()⏎out = p.grad, z.grad_fn.name()
with torch.no_grad():⏎  x = torch.ones(2, requires_grad=True)⏎  x.uniform_(4, 4)⏎out = x, x.requires_grad, x._version
torch.ones(2, requires_grad=True).uniform_()
torch.ones(2, requires_grad=True).bernoulli_()
torch.ones(2, requires_grad=True)[:1].normal_()
torch.zeros(1).expand(3).normal_()
torch.zeros(3).expand(2, 3).random_()
torch.zeros(1).expand(3).exponential_()
"""

ERRORS = """
torch.normal(torch.zeros(2), torch.tensor([-1.0, 1.0]))
torch.normal(0.0, torch.tensor([-1.0, 1.0]))
torch.normal(torch.zeros(2), -1.0)
torch.normal(0.0, -1.0, (2,))
torch.normal(0.0, 1.0)
torch.normal(torch.zeros(3), torch.ones(2))
torch.normal(torch.zeros(3, dtype=torch.int64), torch.ones(3))
torch.normal(0.0, torch.ones(2, dtype=torch.int64))
torch.normal("a", 1)
torch.normal(0.0, 1.0, (2,), dtype=torch.int64)
torch.normal(0.0, 1.0, size=3)
torch.normal(torch.zeros(2), torch.ones(2), (2,))
torch.bernoulli(torch.tensor([2.0]))
torch.bernoulli(torch.tensor([float("nan")]))
torch.bernoulli(torch.tensor([1]))
torch.bernoulli(torch.tensor([1.0]), 1.5)
torch.bernoulli(torch.tensor([1.0]), p=-1)
torch.bernoulli(0.5)
torch.zeros(3).bernoulli_(2)
torch.zeros(3).bernoulli_(torch.tensor([1.0, 0.0, 2.0]))
torch.zeros(3).bernoulli_(torch.tensor([1.0, 0.0]))
torch.zeros(3).bernoulli_(torch.tensor([1, 0, 1]))
torch.zeros(3).bernoulli_("a")
torch.zeros(3).uniform_(2, 1)
torch.zeros(3).uniform_(0, float("inf"))
torch.zeros(3).uniform_(-3e38, 3e38)
torch.zeros(3).uniform_(float("nan"), 1)
torch.zeros(3, dtype=torch.int64).uniform_()
torch.zeros(3, dtype=torch.bool).uniform_()
torch.zeros(3).uniform_(1, 2, 3)
torch.zeros(3).uniform_(generator=3)
torch.zeros(3).uniform_(a=0)
torch.zeros(3).uniform_("a")
torch.zeros(3).uniform_(0, torch.tensor([2.0, 3]))
torch.zeros(0).uniform_(2, 1)
torch.zeros(3).normal_(0, -1)
torch.zeros(3).normal_(0, float("nan"))
torch.zeros(3, dtype=torch.int64).normal_()
torch.zeros(3).normal_("a")
torch.zeros(3).exponential_(0)
torch.zeros(3).exponential_(-1)
torch.zeros(3).exponential_(float("nan"))
torch.zeros(3, dtype=torch.int64).exponential_()
torch.zeros(3).geometric_(0)
torch.zeros(3).geometric_(1)
torch.zeros(3).geometric_(1.5)
torch.zeros(3, dtype=torch.bool).geometric_(0.5)
torch.zeros(3).log_normal_(0, -1)
torch.zeros(3).log_normal_(0, 0)
torch.zeros(3, dtype=torch.int64).log_normal_()
torch.zeros(3).cauchy_(0, -1)
torch.zeros(3, dtype=torch.int64).cauchy_()
torch.zeros(3).random_(0)
torch.zeros(3).random_(3, 2)
torch.zeros(3).random_(-1)
torch.zeros(3, dtype=torch.uint8).random_(300)
torch.zeros(3, dtype=torch.uint8).random_(-1, 3)
torch.zeros(3, dtype=torch.bool).random_(3)
torch.zeros(3, dtype=torch.int32).random_(2**31 + 1)
torch.zeros(3, dtype=torch.int32).random_(-(2**40), None)
torch.zeros(3).random_(2.5)
torch.zeros(3).random_("a")
torch.zeros(3).random_(2**30)
torch.zeros(3).random_(-(2**24) - 5, 3)
torch.rand(2, dtype=torch.int64)
torch.randn(2, dtype=torch.int64)
torch.rand(2, dtype=torch.bool)
torch.rand()
torch.randn()
torch.rand(2.5)
torch.rand("a")
torch.rand(-1)
torch.randn(-1)
torch.rand([2.5])
torch.rand_like(torch.zeros(2, dtype=torch.int64))
torch.randn_like(torch.zeros(2, dtype=torch.int64))
torch.rand_like([1.0])
torch.randint(3, 3, (2,))
torch.randint(0, (2,))
torch.randint(2, 3)
torch.randint(1.5, (2,))
torch.randint(300, (2,), dtype=torch.uint8)
torch.randint(-1, 3, (2,), dtype=torch.uint8)
torch.randint(0, 3, (2,), dtype=torch.bool)
torch.randint(0, 2**63, (2,))
torch.randint(0, 3, (2,), requires_grad=True)
torch.randint(0, 3, (-2,))
torch.randint_like(torch.zeros(2, 3), 4, 2)
torch.randperm(-1)
torch.randperm(300, dtype=torch.uint8)
torch.randperm(2.5)
torch.randperm(5, dtype=torch.bool)
torch.randperm(5, requires_grad=True)
torch.multinomial(torch.tensor([1.0, 2.0, 3.0]), 4)
torch.multinomial(torch.tensor([0.0, 0.0, 0.0]), 1)
torch.multinomial(torch.tensor([0.0, 0.0, 0.0]), 2, True)
torch.multinomial(torch.tensor([1.0, -1.0, 3.0]), 2)
torch.multinomial(torch.tensor([1.0, -1.0, 3.0]), 2, True)
torch.multinomial(torch.tensor([1.0, float("nan"), 3.0]), 2, True)
torch.multinomial(torch.tensor([1.0, float("inf"), 3.0]), 2, True)
torch.multinomial(torch.tensor([1.0, float("inf"), 3.0]), 1)
torch.multinomial(torch.tensor([1, 2]), 1)
torch.multinomial(torch.tensor([1.0, 2.0]), 0)
torch.multinomial(torch.tensor([1.0, 2.0]), -1)
torch.multinomial(torch.tensor(1.0), 1)
torch.multinomial(torch.ones(2, 2, 2), 1)
torch.multinomial([1.0], 1)
torch.multinomial(torch.ones(3), 1, out=torch.zeros(1))
torch.poisson(torch.tensor([-1.0, 2.0]))
torch.poisson(torch.tensor([1, 2]))
torch.poisson([1.0])
"""

MORE = """
out = torch.randn(2,3,device='cpu').device
out = torch.rand(torch.tensor(2)).shape
out = torch.rand(2,generator=5)
out = torch.randint(2)
out = torch.randint(2,5,3)
out = torch.rand(2,dtype='float32')
out = torch.rand(torch.Size([2]),3)
out = torch.rand(2,requires_grad=1)
out = torch.rand(2,requires_grad=True,dtype=torch.int64)
out = torch.randint_like(torch.zeros(2,3),torch.tensor(4)).dtype
out = torch.zeros(3,dtype=torch.complex64).bernoulli_(0.5).dtype
out = torch.zeros(3,dtype=torch.complex64).exponential_()
out = torch.zeros(3,dtype=torch.complex64).random_()
out = torch.zeros(3,dtype=torch.complex64).cauchy_()
out = torch.zeros(3,dtype=torch.complex64).log_normal_()
out = torch.zeros(3,dtype=torch.complex64).geometric_(.5)
out = torch.bernoulli(torch.zeros(3,dtype=torch.complex64))
out = torch.poisson(torch.zeros(3,dtype=torch.complex64))
out = torch.randperm(3,dtype=torch.complex64)
out = torch.randint(3,(2,),dtype=torch.complex64)
out = torch.multinomial(torch.ones(3,dtype=torch.complex64),1)
out = torch.normal(torch.zeros(3,dtype=torch.complex64),1.).dtype
out = torch.normal(torch.zeros(3),torch.zeros(3,dtype=torch.complex64))
out = torch.normal(torch.zeros(3,dtype=torch.complex64),torch.ones(3)).dtype
out = torch.normal(0.,1.,(2,),dtype=torch.complex64).dtype
out = torch.rand(2)._version, torch.randn(2)._version, torch.randperm(3)._version, torch.randint(3,(2,))._version, torch.normal(0.,1.,(2,))._version, torch.bernoulli(torch.zeros(2))._version
out = torch.multinomial(torch.ones(3),1.5)
out = torch.multinomial(torch.ones(3),num_samples=2,replacement=True).shape
out = torch.poisson(input=torch.zeros(2))
out = torch.zeros(2).uniform_(None)
out = torch.zeros(2).normal_(std=-1)
out = torch.zeros(3).uniform_(0, 1, generator=None).shape
out = torch.zeros(3).bernoulli_(p=0.5).shape
out = torch.bernoulli(torch.rand(3), generator=torch.Generator()).shape
out = torch.bernoulli(torch.rand(3).requires_grad_(), out=torch.zeros(3))
out = torch.rand(3,out=torch.zeros(3,dtype=torch.float64)).dtype
out = torch.rand(3,out=torch.zeros(3),dtype=torch.float64)
out = torch.rand_like(torch.zeros(2,3)[:, :1]).stride()
out = torch.rand_like(torch.zeros(3).expand(2,3)).stride()
out = torch.rand_like(torch.zeros(2), requires_grad=True).requires_grad
out = torch.randn_like(torch.zeros(2,requires_grad=True)).requires_grad
out = torch.rand(2, dtype=None, device=None).dtype
out = torch.set_rng_state(torch.zeros(3))
out = torch.set_rng_state(3)
out = torch.get_rng_state().dtype
out = torch.initial_seed()==torch.default_generator.initial_seed()
out = torch.random.get_rng_state().dtype, torch.random.seed()>0, torch.random.manual_seed(3) is torch.default_generator
out = isinstance(torch.default_generator, torch.Generator)
out = torch.Generator(device=torch.device('cpu')).device
"""

GENERATORS = """
g = torch.Generator()⏎out = g.device, g.initial_seed(), g.manual_seed(5) is g, g.initial_seed(), g.manual_seed(-1).initial_seed(), g.manual_seed(2**64 - 1).initial_seed()
out = torch.Generator("cpu").device, torch.Generator(device="cpu").device
g = torch.Generator().manual_seed(3)⏎a = torch.rand(5, generator=g)⏎g.manual_seed(3)⏎out = bool((a == torch.rand(5, generator=g)).all())
g = torch.Generator().manual_seed(3)⏎torch.rand(5, generator=g)⏎s = g.get_state()⏎a = torch.randn(5, generator=g)⏎g.set_state(s)⏎out = s.dtype, bool((a == torch.randn(5, generator=g)).all()), g.set_state(s) is g
g = torch.Generator().manual_seed(3)⏎h = g.clone_state()⏎out = h is g, bool((torch.rand(5, generator=g) == torch.rand(5, generator=h)).all())
import copy, pickle⏎g = torch.Generator().manual_seed(4)⏎torch.rand(3, generator=g)⏎found = [f(g) for f in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))]⏎a = torch.rand(4, generator=g)⏎out = [bool((torch.rand(4, generator=h) == a).all()) for h in found]
torch.Generator().manual_seed(2**64)
torch.Generator().manual_seed(-(2**64))
torch.Generator().manual_seed("a")
torch.Generator().manual_seed(1.5)
torch.Generator().set_state(torch.zeros(16))
torch.Generator().set_state([1])
out = torch.manual_seed(1.7).initial_seed(), torch.manual_seed(-3).initial_seed(), torch.manual_seed(True).initial_seed(), torch.initial_seed(), torch.random.initial_seed()
out = torch.manual_seed(4) is torch.default_generator, torch.random.default_generator is torch.default_generator
torch.manual_seed("a")
torch.manual_seed(2**65)
out = torch.seed() > 0, torch.initial_seed() == torch.seed()
torch.manual_seed(5)⏎s = torch.get_rng_state()⏎a = torch.rand(3)⏎torch.set_rng_state(s)⏎out = bool((a == torch.rand(3)).all())
torch.manual_seed(5)⏎with torch.random.fork_rng():⏎  a = torch.rand(3)⏎out = bool((a == torch.rand(3)).all())
torch.manual_seed(5)⏎with torch.random.fork_rng(devices=[], enabled=False):⏎  a = torch.rand(3)⏎out = bool((a == torch.rand(3)).all())
torch.manual_seed(5)⏎a = torch.zeros(3).uniform_()⏎torch.manual_seed(5)⏎out = bool((a == torch.zeros(3).uniform_()).all())
g = torch.Generator().manual_seed(1)⏎out = [f(generator=g).shape for f in (torch.zeros(2).uniform_, torch.zeros(2).normal_, torch.zeros(2).random_, torch.zeros(2).exponential_, torch.zeros(2).bernoulli_)]
g = torch.Generator()⏎out = torch.randperm(4, generator=g).shape, torch.randint(4, (2,), generator=g).shape, torch.poisson(torch.ones(2), generator=g).shape, torch.multinomial(torch.ones(2), 1, generator=g).shape, torch.normal(0.0, 1.0, (2,), generator=g).shape
"""


@pytest.mark.parametrize("snippet", snippets(SHAPES_AND_DTYPES + GRAPH + ERRORS + MORE + GENERATORS))
def test_as_pytorch(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)
