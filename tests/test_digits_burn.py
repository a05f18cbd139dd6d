"""The digits classifier through Burn's door learns to read."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "digits_burn.py"


def test_the_classifier_reads_test_digits():
    result = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    losses = [float(x) for x in re.findall(r"loss (\S+),", result.stdout)]
    assert losses[-1] < 0.5 * losses[0]
