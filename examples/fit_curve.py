"""Fit a curve to measurements: how fast an enzyme works at each concentration of what it works on.

The data are Treloar's (1974) of the enzyme of cells treated with puromycin, as given in Bates and Watts, "Nonlinear
Regression Analysis and Its Applications" (1988). The curve is Michaelis's and Menten's, `Vm * c / (K + c)`. SciPy's
optimiser asks for the sum of squares and its gradient, which numgrad takes from the formula; the curve's Jacobian at the
minimum tells how certain the two numbers are.

Run it with `python examples/fit_curve.py`.
"""

import numpy as np
from scipy.optimize import minimize

import numgrad as torch

CONCENTRATION = [0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.10, 1.10]  # parts per million
RATE = [76.0, 47.0, 97.0, 107.0, 123.0, 139.0, 159.0, 152.0, 191.0, 201.0, 207.0, 200.0]  # counts per minute, squared

c = torch.tensor(CONCENTRATION, dtype=torch.float64)
measured = torch.tensor(RATE, dtype=torch.float64)


def curve(parameters):
    """The rate at each concentration. Both parameters are positive, so their logarithms are what is fitted."""
    v_max, k = parameters.exp()
    return v_max * c / (k + c)


def sum_of_squares(parameters):
    """How far the curve is from the measurements."""
    return ((curve(parameters) - measured) ** 2).sum()


def value_and_gradient(point):
    """`sum_of_squares` and its gradient at an array, as SciPy asks for them (`numgrad.value_and_grad` makes the same)."""
    parameters = torch.tensor(point, dtype=torch.float64, requires_grad=True)
    value = sum_of_squares(parameters)
    (gradient,) = torch.autograd.grad(value, parameters)
    return value.item(), gradient.numpy()


def fit(start=(100.0, 0.5), record=lambda value: None):
    """The two parameters, their standard errors, and the sum of squares; `record` is called with that of every step."""

    def recorded(point):
        value, gradient = value_and_gradient(point)
        record(value)
        return value, gradient

    found = minimize(recorded, np.log(start), jac=True, method="L-BFGS-B", tol=1e-14)
    best = torch.tensor(found.x, dtype=torch.float64)
    # To first order the covariance of what was fitted is s^2 (J^T J)^-1, J being the derivatives of the curve.
    variance = found.fun / (len(RATE) - 2)
    jacobian = torch.func.jacfwd(curve)(best).numpy()
    errors = np.sqrt(np.diag(variance * np.linalg.inv(jacobian.T @ jacobian)))
    values = np.exp(found.x)
    return values, values * errors, found.fun


def main():
    (v_max, k), (v_error, k_error), squares = fit()
    print(f"Vm = {v_max:.2f} +- {v_error:.2f} counts/min^2")
    print(f"K  = {k:.5f} +- {k_error:.5f} ppm")
    print(f"residual standard error {np.sqrt(squares / (len(RATE) - 2)):.2f}")


if __name__ == "__main__":
    main()
