"""The build's hooks: the built page goes into wheels, and the README becomes the description of the package.

Whoever installs a wheel needs no Node. An editable install does nothing: there `make web` builds.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class PageHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]  # hatchling is there while building only
    """Runs before a wheel or an sdist is made."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is up to date or the install is editable."""
        if version != "editable":
            built = subprocess.run([sys.executable, "-m", "scripts.page"], cwd=self.root, check=False)
            if built.returncode != 0:
                raise SystemExit(built.returncode)  # it has said why


class DescriptionHook(MetadataHookInterface):  # type: ignore[misc,unused-ignore]  # as above
    """Writes the description."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README as it can be read without the files beside it."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(text, repository)}


def described(readme: str, repository: str | None) -> str:
    """Return the README without picture; links to files lead to the repository, or are words where none is known."""
    readme = re.sub(r"<picture>.*?</picture>\n*", "", readme, flags=re.DOTALL)
    target = rf"[\1]({repository.rstrip('/')}/blob/HEAD/\2)" if repository else r"\1"
    return re.sub(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)]+)\)", target, readme)
