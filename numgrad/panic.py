"""The error of Burn's rules."""


class Panic(RuntimeError):
    """What Burn would panic with, under its text. Raised by `numgrad.burn` and by the autodiff contexts of devices."""
