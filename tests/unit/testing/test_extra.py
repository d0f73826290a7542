"""Without the extra the kit says what is missing, and what needs nothing works."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDDEN = """
import sys
sys.modules["hypothesis"] = None
from sluiceway.errors import ConfigurationError
from sluiceway.testing import FakeClock, behaving, assert_commutes
FakeClock().advance(1)
try:
    {statement}
except ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "statement", ["assert_commutes(behaving('upper'), behaving('warn'))", "import sluiceway.testing.strategies"]
)
def test_the_error_names_the_extra(statement: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(statement=statement)], capture_output=True, text=True, check=True
    )
    assert "pip install 'sluiceway[testing]'" in done.stdout


def test_the_kit_does_not_load_hypothesis_before_a_law_is_tried() -> None:
    statement = "import sys, sluiceway.testing; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
