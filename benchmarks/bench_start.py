"""What a fresh process pays; asv runs the returned programs in processes of their own."""


class Import:
    """`import numgrad` beside what it cannot be faster than."""

    def timeraw_numgrad(self):
        return "import numgrad"

    def timeraw_numba_control(self):
        return "import numba"


class FirstUse:
    """One kernel, forward and backward, from the cache on disk (the first round fills it)."""

    warmup_time = 1.0

    def timeraw_multiply(self):
        return """
        import numgrad as ng
        x = ng.ones(16, requires_grad=True)
        (x * x).sum().backward()
        """
