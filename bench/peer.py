"""terminado's server as a process of its own, for the bench: one port with the bare shell, one with a login shell."""

import sys

import tornado.ioloop
import tornado.netutil
import tornado.web
from terminado import NamedTermManager, TermSocket  # type: ignore[attr-defined]  # it names no exports
from tornado.httpserver import HTTPServer

from bench.targets import SHELL, shell_environment


def main(home: str) -> None:
    ports = []
    for command in (SHELL, [SHELL[0], "--login"]):
        manager = NamedTermManager(shell_command=command, max_terminals=1000, extra_env=shell_environment(home))
        app = tornado.web.Application([(r"/(\w+)", TermSocket, {"term_manager": manager})])
        (socket,) = tornado.netutil.bind_sockets(0, "127.0.0.1")
        HTTPServer(app).add_sockets([socket])
        ports.append(str(socket.getsockname()[1]))
    print(*ports, flush=True)
    tornado.ioloop.IOLoop.current().start()


if __name__ == "__main__":
    main(sys.argv[1])
