"""The start of a host: `python -m fourhands.host.main`, by the server or the command line."""

import argparse
import os
import sys

from fourhands.host import archive
from fourhands.host.dumpable import close_memory
from fourhands.host.host import Host
from fourhands.host.log import BUDGET
from fourhands.host.paths import DirsError, WorkspaceDirs


def main(arguments: list[str] | None = None) -> int:
    """Run a host; one line on the descriptor given by `--ready` reports that it listens or why it cannot."""
    parser = argparse.ArgumentParser(prog="fourhands-host", description="Own the terminals of a workspace.")
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--linger", type=float, default=10.0)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--keep-days", type=float, default=archive.KEEP_DAYS)
    parser.add_argument("--keep-bytes", type=int, default=archive.KEEP_BYTES)
    parser.add_argument("--ready", type=int, help="a descriptor that gets one word when the host listens")
    parser.add_argument("--detach", action="store_true", help="leave the starting process")
    options = parser.parse_args(arguments)
    if options.detach and os.fork():
        os._exit(0)  # the starting process waits for this one only
    close_memory()
    places = WorkspaceDirs(options.workspace, options.runtime, options.state)
    keep = archive.Retention(options.keep_days, options.keep_bytes)
    host = Host(places, linger_s=options.linger, budget=options.budget, keep=keep)
    answer, code = "ready", 0
    try:
        host.open()
    except BlockingIOError:
        code = 3  # another host was faster: use that one
    except (OSError, DirsError) as error:
        answer, code = str(error), 1
    if options.ready is not None:
        os.write(options.ready, answer.encode())
        os.close(options.ready)
    if code == 0:
        try:
            host.serve()
        finally:
            host.close()
    return 0 if code == 3 else code


if __name__ == "__main__":
    sys.exit(main())
