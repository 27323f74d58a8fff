"""The build hook: puts the built page into wheels, so that whoever installs one needs no Node.

An editable install does nothing: there `make web` builds.
"""

import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]  # hatchling is there while building only
    """Runs before a wheel or an sdist is made."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is up to date or the install is editable."""
        if version != "editable":
            built = subprocess.run([sys.executable, "-m", "scripts.page"], cwd=self.root, check=False)
            if built.returncode != 0:
                raise SystemExit(built.returncode)  # it has said why
