"""A lesson on autograd: retained graphs, weighted gradients, second derivatives, accumulation and in-place operations.

The code is PyTorch's but for the first import. The output is PyTorch's, too, but for three things: the random values,
the object ids, and the name of the library in the last message.
"""

import numgrad as tt

print(tt.manual_seed(10))

# retain_graph: a second backward through the same graph
# y = (x + w) * (w + 1) = w^2 + w x + w + x; w = 1, x = 2
w = tt.tensor([1.], requires_grad = True)
x = tt.tensor([2.], requires_grad = True)

a = tt.add(w, x)
b = tt.add(w, 1)
y = tt.mul(a, b)

y.backward(retain_graph = True)
print(w.grad)
y.backward()

# grad_tensors: the weights of several outputs, here 2 dy0/dw + 1 dy1/dw = 2 * 5 + 1 * 2
w = tt.tensor([1.], requires_grad = True)
x = tt.tensor([2.], requires_grad = True)

a = tt.add(w, x)
b = tt.add(w, 1)

y0 = tt.mul(a, b)    # y0 = (x + w) * (w + 1)
y1 = tt.add(a, b)    # y1 = (x + w) + (w + 1)

loss = tt.cat([y0, y1], dim = 0)    # [y0, y1]
grad_tensors = tt.tensor([2., 1.])

loss.backward(gradient = grad_tensors)
print(w.grad)

# an inner product: the gradients of x and y are z, that of z is t; t is no leaf and keeps none
x = tt.randn((1), dtype=tt.float32, requires_grad=True)
y = tt.randn((1), dtype=tt.float32, requires_grad=True)
z = tt.randn((1), dtype=tt.float32, requires_grad=True)
t = x + y
loss = t.dot(z)
loss.backward(retain_graph=True)
print(x, '\n', y, '\n', z, '\n')
print(z, x.grad, y.grad, '\n')
print(t, z.grad, '\n')
print(t.grad)

# autograd.grad: d(x^2)/dx = 2 x, and its derivative
x = tt.tensor([3.], requires_grad = True)
y = tt.pow(x, 2)

grad_1 = tt.autograd.grad(y, x, create_graph = True)
print(grad_1)

grad_2 = tt.autograd.grad(grad_1[0], x)
print(grad_2)

# tip 1: gradients add up until they are set to zero
w = tt.tensor([1.], requires_grad=True)
x = tt.tensor([3.], requires_grad=True)

for _ in range(4):
    a = tt.add(w, x)
    b = tt.add(w, 1)
    y = tt.mul(a, b)

    y.backward()
    print(w.grad)    # dy/dw = 2 w + x + 1

    w.grad.zero_()

# tip 2: what depends on a leaf that requires a gradient requires one, too
w = tt.tensor([1.], requires_grad=True)
x = tt.tensor([2.], requires_grad=True)

a = tt.add(w, x)
b = tt.add(w, 1)
y = tt.mul(a, b)

print(a.requires_grad, b.requires_grad, y.requires_grad)

# tip 3, first part: += keeps the object
a = tt.ones((1, ))
print(id(a), a)

a += tt.ones((1, ))
print(id(a), a)

# tip 3, second part: a value that backward needs must not be changed in place
w = tt.tensor([1.], requires_grad=True)
x = tt.tensor([2.], requires_grad=True)

a = tt.add(w, x)
b = tt.add(w, 1)
y = tt.mul(a, b)

a.add_(1)

try:
    y.backward()
except RuntimeError as error:
    print(f"RuntimeError: {error}")
