"""The layer around a cell's command that gives it a network namespace with our program in it."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fourhands.core import child
from fourhands.core.errors import Unsupported
from fourhands.providers.egress import inside

Way = Literal["names", "proxy"]
"""Names inside, for all programs; or a proxy, for those that heed its variables."""

PROBE_S = 10.0

_CAPABILITIES = ("CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE", "CAP_SETPCAP")
# In a namespace in which this is root, root without capabilities could make no further one: the kernel wants
# CAP_SETFCAP of those who map root. So root has another number here, and `identity` gives it back further in.
_NOT_ROOT = "1000"
_SOURCE = str(Path(__file__).resolve().parents[3])
# Not `-m`: without `site`, an editable installation would not be found.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from fourhands.providers.egress.inside import main; "
    "sys.exit(main(sys.argv[1:]))"
)
_RESOLVER = "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n"


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The start of a cell's command in a network namespace of its own; `directory` is the cell's, for this."""

    builder: str
    directory: str
    way: Way
    python: str = sys.executable
    source: str = _SOURCE

    @property
    def identity(self) -> list[str]:
        """Options for a bwrap that is the command: with them its programs see the user id that they had outside."""
        return ["--uid", "0", "--gid", "0"] if os.geteuid() == 0 else []

    @property
    def socket(self) -> str:
        """Path of the socket by which the cell's program reaches the server."""
        return f"{self.directory}/s"

    def enclose(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs this one, unchanged, in the namespace; it must not unshare the network itself.

        Descriptors, exit code and environment pass through; the command has no capability.
        """
        outer = [self.builder, "--die-with-parent", "--unshare-user", "--unshare-net", "--dev-bind", "/", "/"]
        if os.geteuid() == 0:
            outer += ["--uid", _NOT_ROOT, "--gid", _NOT_ROOT]
        if self.way == "names":
            for name in _CAPABILITIES:
                outer += ["--cap-add", name]
            for name in ("resolv.conf", "hosts", "nsswitch.conf"):
                place = os.path.realpath(f"/etc/{name}")
                if os.path.isfile(place) and os.path.isfile(f"{self.directory}/{name}"):
                    outer += ["--ro-bind", f"{self.directory}/{name}", place]
        python = [self.python, "-I", "-S", "-c", _START, self.source]
        return [*outer, "--", *python, self.way, self.socket, *command]

    def prepare(self) -> None:
        """Write the files that stand in for those of /etc. Raises `OSError`."""
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        host = os.uname().nodename
        Path(self.directory, "resolv.conf").write_text(_RESOLVER)
        Path(self.directory, "hosts").write_text(f"127.0.0.1 localhost {host}\n::1 localhost ip6-localhost\n")
        switch = Path("/etc/nsswitch.conf")
        if switch.is_file():
            lines = switch.read_text(errors="replace").splitlines()
            kept = ["hosts: files dns" if line.strip().startswith("hosts:") else line for line in lines]
            Path(self.directory, "nsswitch.conf").write_text("\n".join(kept) + "\n")

    def variables(self) -> dict[str, str]:
        """Return the variables that programs of the cell need to find their way out; none where names lead there."""
        return {} if self.way == "names" else proxy_variables(f"http://127.0.0.1:{inside.PROXY_PORT}")


def proxy_variables(url: str) -> dict[str, str]:
    """Return the variables that lead programs to a proxy, in both cases."""
    named = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": "localhost,127.0.0.1,::1"}
    return named | {name.lower(): value for name, value in named.items()}


async def find_way(builder: str, directory: str) -> Way:
    """Find out, by trying, how a cell's programs can reach out here. Raises `Unsupported` if in no way."""
    complaint = ""
    ways: tuple[Way, ...] = ("names", "proxy")
    for way in ways:
        trial = Enclosure(builder, directory, way)
        try:
            ended = await child.run(trial.enclose(["true"]), env={"PATH": os.defpath}, timeout_s=PROBE_S)
        except TimeoutError:
            complaint = f"no answer within {PROBE_S:g} s"
            continue
        if ended.code == 0:
            return way
        complaint = ended.err.strip()[:300] or f"exit code {ended.code}"
    raise Unsupported(
        f"the sandbox cannot have a network of its own here: {complaint}",
        hint='user namespaces may be forbidden; `fourhands doctor` explains; sandbox.network = "off" does without',
    )
