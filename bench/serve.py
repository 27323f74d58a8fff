"""Our server as a process of its own, for the bench."""

import sys

import uvloop

from bench.targets import serve

if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:4]))
