"""Conversion to and from tensors, looking at them, copies, pickles and DLPack, side by side with PyTorch."""

import numpy as np
import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

MAKING = r"""
out = np.asarray(torch.ones(2))
out = np.asarray(torch.ones(2,requires_grad=True))
out = np.asarray(torch.ones(2,requires_grad=True)*2)
out = np.asarray(torch.ones(2),dtype='int32')
out = np.concatenate([torch.ones(2),torch.zeros(1)])
out = np.stack([torch.ones(2),torch.zeros(2)])
out = np.allclose(torch.ones(2),np.ones(2))
out = np.float64(2)*torch.ones(2)
out = np.float32(2)+torch.ones(2,dtype=torch.float64)
out = np.ones(2)==torch.ones(2)
out = np.exp(torch.ones(2,requires_grad=True))
out = np.linalg.norm(torch.ones(4))
out = np.shape(torch.ones(2,3))
out = np.array([torch.ones(2),torch.ones(2)])
out = np.array([torch.tensor(1.),torch.tensor(2.)])
out = np.where(torch.tensor([True,False]),1,2)
out = np.ones(3)[torch.tensor([0,2])]
out = np.ones(3)[torch.tensor(1)]
out = np.testing.assert_allclose(torch.ones(2),[1,1])
out = torch.from_numpy(np.arange(3))
out = torch.from_numpy([1])
out = torch.from_numpy(np.float32(3))
out = torch.from_numpy(np.arange(3,dtype='>i4'))
out = torch.from_numpy(np.arange(3,dtype=np.float16)).dtype
out = torch.from_numpy(np.zeros((2,0))).shape
out = torch.from_numpy(np.array(3)).shape
out = torch.from_numpy(np.zeros(3,dtype=[('a','i1'),('b','f4')])['b'])
out = torch.tensor([[1,2],[3]])
out = torch.tensor([[1],[2,3]])
out = torch.tensor([1,[2]])
out = torch.tensor([[1],2])
out = torch.tensor([[[1,2],[3]]])
out = torch.tensor('a')
out = torch.tensor(['a'])
out = torch.tensor([1,'a'])
out = torch.tensor(None)
out = torch.tensor([None])
out = torch.tensor(object())
out = torch.tensor([object()])
out = torch.tensor({})
out = torch.tensor(set([1]))
out = torch.tensor({'a':1})
out = torch.tensor(iter([1]))
out = torch.tensor(2**63)
out = torch.tensor([2**63])
out = torch.tensor(-2**63)
out = torch.tensor(2**64)
out = torch.tensor(300,dtype=torch.uint8)
out = torch.tensor([300],dtype=torch.uint8)
out = torch.tensor(-1,dtype=torch.uint8)
out = torch.tensor(2**40,dtype=torch.int32)
out = torch.tensor([2**40],dtype=torch.int32)
out = torch.tensor(1e300,dtype=torch.float32)
out = torch.tensor([1e300])
out = torch.tensor(1.5,dtype=torch.int64)
out = torch.tensor([1.5],dtype=torch.int64)
out = torch.tensor(nan,dtype=torch.int64)
out = torch.tensor(1e30,dtype=torch.int64)
out = torch.tensor(inf,dtype=torch.int32)
out = torch.tensor(1+2j,dtype=torch.float32)
out = torch.tensor([1,2.5])
out = torch.tensor([True,2])
out = torch.tensor([True,False])
out = torch.tensor([True,2.5])
out = torch.tensor([1,1j])
out = torch.tensor([])
out = torch.tensor([[]]).shape
out = torch.tensor([[],[]]).shape
out = torch.tensor(())
out = torch.tensor(range(3))
out = torch.tensor(np.float32(3)).dtype
out = torch.tensor([np.float32(3)]).dtype
out = torch.tensor([np.float64(3)]).dtype
out = torch.tensor([np.float32(3),np.float64(3)]).dtype
out = torch.tensor([np.int32(3)]).dtype
out = torch.tensor(np.int32(3)).dtype
out = torch.tensor(np.bool_(True)).dtype
out = torch.tensor([np.bool_(True)]).dtype
out = torch.tensor(np.arange(3,dtype='>i4'))
out = torch.tensor([torch.tensor(1),torch.tensor(2)])
out = torch.tensor([torch.tensor(1.5),2])
out = torch.tensor([torch.tensor([1.5]),2])
out = torch.tensor([torch.tensor([1.5,2])])
out = torch.tensor([torch.tensor([1,2]),torch.tensor([1,2])])
out = torch.tensor([torch.tensor(1.,requires_grad=True)])
out = torch.tensor(torch.tensor(1.,requires_grad=True)).requires_grad
out = torch.tensor(torch.tensor([1]))
out = torch.tensor(torch.ones(2),requires_grad=True)
out = torch.tensor([1],requires_grad=True)
out = torch.tensor([1.],dtype='float32')
out = torch.tensor([1.],dtype=np.float32)
out = torch.tensor([1.],dtype=float).dtype
out = torch.tensor([1.],dtype=int).dtype
out = torch.tensor(1,2)
out = torch.tensor(data=[1])
out = torch.tensor(b'abc')
out = torch.tensor(bytearray(b'abc'))
out = torch.tensor(memoryview(b'abc'))
out = torch.tensor(np.zeros((2,)*70) if 0 else 1)
import fractions⏎out = torch.tensor(fractions.Fraction(1,2))
import decimal⏎out = torch.tensor(decimal.Decimal(1))
import array⏎out = torch.tensor(array.array('i',[1,2]))
import array⏎out = torch.tensor(array.array('f',[1,2])).dtype
out = torch.as_tensor([1,2])
a=np.zeros(3)⏎t=torch.as_tensor(a)⏎t[0]=5⏎out = a
a=np.zeros(3)⏎t=torch.as_tensor(a,dtype=torch.float32)⏎t[0]=5⏎out = a
a=torch.zeros(3)⏎out = torch.as_tensor(a) is a
a=torch.zeros(3)⏎out = torch.as_tensor(a,dtype=torch.float64).dtype
a=torch.zeros(3,requires_grad=True)⏎out = torch.as_tensor(a).requires_grad
out = torch.as_tensor(None)
out = torch.as_tensor(3)
out = torch.asarray([1,2])
out = torch.asarray(torch.zeros(3)).shape
a=torch.zeros(3)⏎out = torch.asarray(a) is a
a=torch.zeros(3)⏎out = torch.asarray(a,copy=True) is a
a=torch.zeros(3)⏎out = torch.asarray(a,dtype=torch.float64,copy=False)
out = torch.asarray([1.,2.],copy=False)
out = torch.asarray([1.,2.],requires_grad=True)
a=torch.zeros(3,requires_grad=True)⏎out = torch.asarray(a)
a=torch.zeros(3,requires_grad=True)⏎out = torch.asarray(a,requires_grad=True)
a=torch.zeros(3,requires_grad=True)*2⏎out = torch.asarray(a,requires_grad=True)
a=np.zeros(3)⏎t=torch.asarray(a)⏎t[0]=5⏎out = a
a=np.zeros(3)⏎t=torch.asarray(a,copy=True)⏎t[0]=5⏎out = a
out = torch.asarray(np.zeros(3),dtype=torch.float32,copy=False)
out = torch.asarray(bytearray(b'abcd'),dtype=torch.int32)
out = torch.asarray(np.float32(3))
out = torch.asarray(None)
out = torch.asarray('a')
out = torch.frombuffer(bytearray(b'abcd'),dtype=torch.uint8)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,offset=4)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,count=1)
out = torch.frombuffer(bytearray(b'abcdefg'),dtype=torch.int32)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,count=5)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,offset=9)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,offset=-1)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,count=0)
out = torch.frombuffer(bytearray(b''),dtype=torch.int32)
out = torch.frombuffer([1],dtype=torch.uint8)
out = torch.frombuffer(bytearray(b'abcd'),dtype=torch.float32,requires_grad=True).requires_grad
out = torch.frombuffer(bytearray(b'abcd'),dtype=torch.int32,requires_grad=True)
out = torch.frombuffer(np.arange(3.),dtype=torch.float64)
out = torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32,offset=2,count=1)
out = torch.ones(2).numpy()
out = torch.ones(2,requires_grad=True).numpy()
out = torch.ones(2,requires_grad=True).numpy(force=True)
out = torch.ones(2).__array_priority__
out = hasattr(torch.ones(2),'__array_interface__')
out = hasattr(torch.ones(2),'__cuda_array_interface__')
out = torch.ones(2).tolist()
class A:⏎    def __array__(self,dtype=None,copy=None): return np.arange(3)⏎out = torch.tensor(A())
class A:⏎    def __array__(self,dtype=None,copy=None): return np.arange(3)⏎out = torch.as_tensor(A())
class A:⏎    def __array__(self,dtype=None,copy=None): return np.arange(3)⏎out = torch.asarray(A())
class A:⏎    def __len__(self): return 2⏎    def __getitem__(self,i):⏎        if i>1: raise IndexError⏎        return i⏎out = torch.tensor(A())
class A:⏎    __array_interface__=np.arange(3).__array_interface__⏎out = torch.tensor(A())
class A:⏎    __array_interface__=np.arange(3).__array_interface__⏎out = torch.as_tensor(A())
class A:⏎    def __float__(self): return 2.5⏎out = torch.tensor(A())
class A:⏎    def __index__(self): return 2⏎out = torch.tensor(A())
class A(float): pass⏎out = torch.tensor(A(2.))
import enum⏎class E(enum.IntEnum):⏎    a=3⏎out = torch.tensor(E.a)
import enum⏎class E(enum.IntEnum):⏎    a=3⏎out = torch.tensor([E.a])
x=[]⏎x.append(x)⏎out = torch.tensor(x)
l=1⏎for i in range(130): l=[l]⏎out = torch.tensor(l)
l=1⏎for i in range(64): l=[l]⏎out = torch.tensor(l).dim()
out = torch.as_tensor([1,2], dtype=torch.float32)
out = torch.as_tensor(torch.ones(2), device='cpu').device
out = torch.as_tensor(np.float32(2)).dtype
out = torch.as_tensor(data=[1])
out = torch.asarray(3.5), torch.asarray(True), torch.asarray([[1,2],[3,4]]).shape
out = torch.asarray(torch.ones(2), dtype=torch.float32, copy=False).dtype
out = torch.tensor([[1.0, 2], [3, 4]], dtype=torch.float16)
out = torch.tensor(1.5, dtype=torch.bool), torch.tensor([2, 0], dtype=torch.bool), torch.tensor(nan, dtype=torch.bool)
out = torch.tensor([1+2j]), torch.tensor(1, dtype=torch.complex64), torch.tensor([1+0j], dtype=torch.bool)
out = torch.tensor([1e5], dtype=torch.float16), torch.tensor(-1, dtype=torch.uint8), torch.tensor([-1, 255], dtype=torch.uint8)
out = torch.tensor(-256, dtype=torch.uint8)
out = torch.tensor(128, dtype=torch.int8)
out = torch.tensor(-129, dtype=torch.int8)
out = torch.tensor([np.int64(300)], dtype=torch.uint8)
out = torch.tensor(np.int64(300), dtype=torch.uint8)
out = torch.tensor(np.array([300]), dtype=torch.uint8)
out = torch.tensor(np.array([1.5, -2.5]), dtype=torch.int32)
out = torch.tensor(np.array([1, 2]), requires_grad=True)
out = torch.tensor(np.array([1., 2.]), requires_grad=True)
out = torch.tensor([[[]]]).shape, torch.tensor([(), ()]).shape
out = torch.tensor([[1], []])
out = torch.tensor([1, None])
out = torch.tensor([[1, 2], None])
out = torch.tensor([[1, 2], 3])
out = torch.tensor(((1, 2), (3, 4)))
out = torch.tensor([range(2), range(2)])
out = torch.tensor(True), torch.tensor(5), torch.tensor(2.5)
"""

LOOKING = r"""
out = [x.grad_fn.name() for x in torch.ones(2,requires_grad=True)]
x = torch.ones(2, 3, requires_grad=True)⏎a, b = x⏎(a * 2 + b * 3).sum().backward()⏎out = x.grad, a._is_view(), a.grad_fn is b.grad_fn
out = list(iter(torch.arange(3))), list(torch.zeros(0, 2))
a, b = torch.zeros(2, 2, requires_grad=True) * 1⏎a.add_(1)
out = reversed(torch.arange(3)), reversed(torch.tensor(1)), reversed(torch.arange(4).view(2,2)), reversed(torch.zeros(0, 2)).shape
x = torch.ones(3, requires_grad=True)⏎y = reversed(x)⏎(y * torch.arange(3)).sum().backward()⏎out = x.grad, y.grad_fn.name()
out = int(torch.tensor(1.5,requires_grad=True))
out = bool(torch.tensor(1.5,requires_grad=True))
out = torch.tensor(1.5,requires_grad=True).item()
out = torch.tensor(1.5,requires_grad=True).tolist()
out = float(torch.tensor([1.,2]))
out = float(torch.ones(1,1))
out = int(torch.tensor(nan))
out = int(torch.tensor(inf))
out = int(torch.tensor(2.7))
out = int(torch.tensor(True))
out = float(torch.tensor(True))
out = float(torch.tensor(3))
out = complex(torch.tensor(3))
out = complex(torch.tensor(1+2j))
out = complex(torch.ones(2))
out = int(torch.ones(2))
out = int(torch.ones(0))
out = float(torch.tensor(1+2j))
out = int(torch.tensor(1+2j))
out = bool(torch.ones(2))
out = bool(torch.ones(0))
out = bool(torch.tensor([[0.]]))
out = bool(torch.tensor(nan))
out = bool(torch.tensor(0j))
import operator⏎out = operator.index(torch.tensor(3))
import operator⏎out = operator.index(torch.tensor([3]))
import operator⏎out = operator.index(torch.tensor(3.))
import operator⏎out = operator.index(torch.tensor([3,4]))
import operator⏎out = operator.index(torch.tensor(True))
out = [1,2,3][torch.tensor(1)]
out = [1,2,3][torch.tensor(True)]
out = range(torch.tensor(3))
out = len(torch.ones(3,2))
out = len(torch.tensor(1))
out = list(torch.tensor(1))
out = list(torch.arange(3))
out = 1 in torch.arange(3)
out = 5 in torch.arange(3)
out = 1.5 in torch.arange(3)
out = torch.tensor(1) in torch.arange(3)
out = torch.arange(2) in torch.arange(4).view(2,2)
out = 'a' in torch.arange(3)
out = None in torch.arange(3)
out = [1] in torch.arange(3)
out = nan in torch.tensor([nan])
x=torch.ones(2)⏎out = hash(x)==id(x)
out = {torch.ones(2):1}
out = round(torch.tensor(2.567),2)
out = round(torch.tensor([2.5,3.5]))
out = round(torch.tensor(3))
out = divmod(torch.tensor(7.),2)
out = divmod(7,torch.tensor(2))
out = divmod(torch.tensor([7,-7]),3)
import math⏎out = math.floor(torch.tensor(2.7))
import math⏎out = math.ceil(torch.tensor(2.7))
import math⏎out = math.trunc(torch.tensor(2.7))
import math⏎out = math.sqrt(torch.tensor(4.))
out = abs(torch.tensor(-1))
out = +torch.tensor(-1)
out = format(torch.tensor(3.14159),'.3f')
out = format(torch.tensor(3),'05d')
out = format(torch.tensor([1.]),'.3f')
out = format(torch.tensor([1.,2]),'.3f')
out = format(torch.tensor([1.,2]))
out = format(torch.tensor(1.5))
out = f"{torch.tensor(1.5)}"
out = f"{torch.tensor([1.5])}"
out = f"{torch.tensor(1.5,requires_grad=True):.2f}"
out = f"{torch.tensor(1.5,requires_grad=True)}"
out = f"{torch.tensor(1.5,requires_grad=True)!r}"
out = format(torch.tensor(True),'')
out = format(torch.tensor(True),'d')
out = format(torch.tensor(3.),'d')
out = format(torch.nn.Parameter(torch.tensor(3.)),'.2f')
out = "%s" % torch.tensor(1.5)
out = "%d" % torch.tensor(1)
out = "%f" % torch.tensor(1.5)
out = str(torch.ones(2))
out = repr(torch.nn.Parameter(torch.ones(2)))
out = str(torch.nn.Parameter(torch.ones(2)))
out = repr(torch.nn.Parameter(torch.ones(2),requires_grad=False))
out = 'grad' in dir(torch.ones(2))
out = 'is_cuda' in dir(torch.ones(2))
out = 'volatile' in dir(torch.ones(2))
out = repr(torch.Size([2]))
out = repr(torch.float32),str(torch.bool),repr(torch.device('cpu'))
"""

COPYING = r"""
import copy⏎x=(torch.ones(2,requires_grad=True)*2)⏎out = copy.deepcopy(x)
import copy⏎x=torch.ones(2,requires_grad=True)⏎x.grad=torch.zeros(2)⏎y=copy.deepcopy(x)⏎out = (y.grad,y.grad is x.grad,y.requires_grad)
import copy⏎x=torch.ones(2,requires_grad=True)⏎x.grad=torch.zeros(2)⏎y=copy.copy(x)⏎out = (y.grad,y.requires_grad,y.data_ptr()==x.data_ptr(),y is x)
import copy⏎x=torch.ones(2,requires_grad=True)*2⏎y=copy.copy(x)⏎out = (y.requires_grad,y.grad_fn,y.data_ptr()==x.data_ptr())
import copy⏎x=torch.arange(6.)⏎y=x[2:4]⏎a,b=copy.deepcopy([x,y])⏎b.fill_(9)⏎out = (a,b.storage_offset(),b._is_view())
import copy⏎x=torch.arange(6.).view(2,3).t()⏎b=copy.deepcopy(x)⏎out = (b.stride(),)
import copy⏎x=torch.ones(2)⏎x.foo=[1]⏎y=copy.deepcopy(x)⏎out = (y.foo,y.foo is x.foo)
import copy⏎x=torch.ones(2)⏎x.foo=[1]⏎y=copy.copy(x)⏎out = (y.foo,y.foo is x.foo)
import copy⏎x=torch.nn.Parameter(torch.ones(2))⏎x.foo=1⏎y=copy.deepcopy(x)⏎out = (type(y),hasattr(y,'foo'),y.requires_grad)
import copy⏎x=torch.nn.Parameter(torch.ones(2))⏎x.grad=torch.ones(2)⏎y=copy.deepcopy(x)⏎out = (y.grad,)
import copy⏎x=torch.ones(2)⏎a,b=copy.deepcopy([x,x])⏎out = a is b
import copy⏎out = copy.deepcopy(torch.float32) is torch.float32
import copy⏎out = copy.deepcopy(torch.Size([2,3]))
import copy⏎out = copy.deepcopy(torch.device('cpu'))
import pickle⏎out = pickle.loads(pickle.dumps(torch.ones(2)))
import pickle⏎out = pickle.loads(pickle.dumps(torch.ones(2,requires_grad=True)))
import pickle⏎x=torch.ones(2,requires_grad=True)*2⏎y=pickle.loads(pickle.dumps(x))⏎out = (y,y.is_leaf,y.requires_grad)
import pickle⏎x=torch.arange(6.).view(2,3).t()⏎out = pickle.loads(pickle.dumps(x)).stride()
import pickle⏎x=torch.ones(2,requires_grad=True)⏎x.grad=torch.zeros(2)⏎out = pickle.loads(pickle.dumps(x)).grad
import pickle⏎x=torch.ones(2)⏎x.foo=3⏎out = pickle.loads(pickle.dumps(x)).foo
import pickle⏎x=torch.nn.Parameter(torch.ones(2))⏎y=pickle.loads(pickle.dumps(x))⏎out = (type(y).__name__,y.requires_grad)
import pickle⏎out = pickle.loads(pickle.dumps(torch.Size([2,3])))
import pickle⏎out = pickle.loads(pickle.dumps(torch.float64)) is torch.float64
import pickle⏎out = pickle.loads(pickle.dumps(torch.device('cuda:1')))
import pickle⏎out = pickle.loads(pickle.dumps(torch.ones(3).expand(2,3))).stride()
import pickle⏎out = [pickle.loads(pickle.dumps(torch.ones(2),protocol=p)) for p in range(6)]
import pickle⏎out = pickle.loads(pickle.dumps(torch.tensor(1.5)))
import pickle⏎out = pickle.loads(pickle.dumps(torch.zeros(0,3)))
"""

DLPACK = r"""
out = np.from_dlpack(torch.arange(3))
out = np.from_dlpack(torch.arange(3)).flags.writeable
t=torch.arange(3)⏎np.from_dlpack(t)[0]=5⏎out = t
out = np.from_dlpack(torch.ones(2,requires_grad=True))
out = torch.from_dlpack(torch.ones(2,requires_grad=True))
out = torch.utils.dlpack.to_dlpack([1])
torch.ones(2, requires_grad=True).__dlpack__()
torch.ones(2).__dlpack__(stream=1)
torch.ones(2).__dlpack__(stream='a')
out = torch.from_dlpack(np.arange(3))
out = torch.from_dlpack(torch.arange(3))
torch.from_dlpack([1])
torch.from_dlpack(3)
out = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3)))
out = torch.from_dlpack(torch.arange(3).__dlpack__())
c = torch.arange(3).__dlpack__()⏎torch.from_dlpack(c)⏎torch.from_dlpack(c)
a = np.arange(3)⏎t = torch.from_dlpack(a)⏎t[0] = 9⏎out = a
a = np.arange(3)⏎t = torch.from_dlpack(a, copy=True)⏎t[0] = 9⏎out = a
out = torch.from_dlpack(np.arange(3), device='cpu')
out = torch.from_dlpack(np.arange(6).reshape(2, 3).T).stride()
"""


@pytest.mark.parametrize("snippet", snippets(MAKING + LOOKING + COPYING + DLPACK))
def test_as_pytorch(snippet: str) -> None:
    prepared = f"from math import inf, nan⏎{snippet}"
    assert shown(numgrad, prepared) == shown(torch, prepared)


DTYPES = ("float16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("name", DTYPES)
def test_memory_is_exchanged_with_pytorch(name: str) -> None:
    theirs = torch.arange(6).to(getattr(torch, name)).view(2, 3).t()
    ours = numgrad.from_dlpack(theirs)
    assert (tuple(ours.shape), ours.stride(), ours.dtype.name) == ((3, 2), (1, 3), name)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    theirs.fill_(1)
    assert ours.tolist() == theirs.tolist()
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() == ours.data_ptr()
    assert (back.stride(), back.dtype) == (theirs.stride(), theirs.dtype)
    ours.zero_()
    assert not theirs.any()
