"""Benchmarks: bench_*.py for asv (history), compare.py for numgrad and PyTorch side by side."""
