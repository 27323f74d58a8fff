"""terminado's server as a process of its own, for the bench."""

import sys

import tornado.ioloop
import tornado.netutil
import tornado.web
from terminado import NamedTermManager, TermSocket
from tornado.httpserver import HTTPServer

from bench.targets import SHELL, shell_environment


def main(home: str) -> None:
    manager = NamedTermManager(shell_command=SHELL, max_terminals=1000, extra_env=shell_environment(home))
    app = tornado.web.Application([(r"/(\w+)", TermSocket, {"term_manager": manager})])
    (socket,) = tornado.netutil.bind_sockets(0, "127.0.0.1")
    HTTPServer(app).add_sockets([socket])
    print(socket.getsockname()[1], flush=True)
    tornado.ioloop.IOLoop.current().start()


if __name__ == "__main__":
    main(sys.argv[1])
