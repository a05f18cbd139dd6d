"""The first optimizer step of the digits network in this process, timed from before `import numgrad`; prints JSON.

`benchmarks/compare.py` runs this file with an empty kernel cache and with a warm one.
"""

import json
import time
from pathlib import Path

BATCH = 64


def main() -> None:
    """Import, build the network, take one step; print the seconds spent on the import and on everything."""
    start = time.perf_counter()
    import numgrad as ng

    imported = time.perf_counter()
    import numpy as np

    with np.load(Path(__file__).parent.parent / "examples" / "data" / "digits.npz") as archive:
        x = ng.from_numpy((archive["images"][:BATCH].reshape(-1, 64) / 8.0 - 1.0).astype(np.float32))
        y = ng.from_numpy(archive["labels"][:BATCH].astype(np.int64))
    nn = ng.nn
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = ng.optim.Adam(model.parameters(), lr=1e-3)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(json.dumps({"import": imported - start, "total": time.perf_counter() - start, "loss": loss.item()}))


if __name__ == "__main__":
    main()
