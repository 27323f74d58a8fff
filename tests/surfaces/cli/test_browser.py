"""A page is opened only where somebody has a screen to see it on."""

import pytest

from fourhands.surfaces.cli.browser import has_display


@pytest.mark.parametrize(
    ("env", "platform", "there"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", True),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "1 2 3 4"}, "darwin", False),
    ],
)
def test_a_screen_is_looked_for(env: dict[str, str], platform: str, there: bool) -> None:
    assert has_display(env, platform) is there
