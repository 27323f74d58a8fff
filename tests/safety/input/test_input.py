import shlex
from collections.abc import Iterator

import pytest
from tests.safety.input import cases
