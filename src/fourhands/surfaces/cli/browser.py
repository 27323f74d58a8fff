"""Opening the page in a browser on this machine, if it has a display."""

import os
import sys
from collections.abc import Mapping

import click


def has_display(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Return True if a window can be opened; without one a text browser might take over the terminal."""
    if platform == "darwin" or "WSL_DISTRO_NAME" in env:
        return "SSH_CONNECTION" not in env
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def show_page(link: str) -> bool:
    """Open a link; False where there is no browser to open it in."""
    return has_display() and click.launch(link) == 0
