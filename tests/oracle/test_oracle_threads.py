"""Both libraries at work in one process, on several threads each."""

import pytest
from processes import output

pytest.importorskip("torch")

TOGETHER = """
import threading
{imports}
def work(library):
    for _ in range(5):
        x = library.ones({size}, requires_grad=True)
        (x * x).sum().backward()
        assert (x.grad - 2).abs().max().item() == 0
for library in (torch, numgrad):
    library.set_num_threads(2)
    work(library)
workers = [threading.Thread(target=work, args=(library,)) for library in (torch, numgrad) * 2]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print("done")
"""


@pytest.mark.parametrize("imports", ["import torch, numgrad", "import numgrad, torch"])
def test_either_may_be_imported_first(imports):
    """Two OpenMP runtimes in a process crash on macOS with arm64; numgrad's threads are Python's own, so it brings none.

    What is checked is the system that this runs on: a Mac has to run it to say something about Macs.
    """
    assert output(TOGETHER.format(imports=imports, size=1 << 20)) == "done\n"
