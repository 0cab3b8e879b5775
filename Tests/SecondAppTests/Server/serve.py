"""Serves `bookshop` or `httpbin` with gunicorn on a free port of 127.0.0.1, and prints the port.

Ends with its worker when its standard input closes, so also when the process that has started it ends in any way.
Writes into a temporary folder only, and removes it.
"""

import logging
import os
import shutil
import signal
import sys
import tempfile
import threading

from gunicorn.app.base import BaseApplication


class Server(BaseApplication):
    def __init__(self, application):
        self.application = application
        super().__init__()

    def load_config(self):
        self.cfg.set("bind", "127.0.0.1:0")
        self.cfg.set("worker_class", "gthread")
        self.cfg.set("threads", 16)
        self.cfg.set("loglevel", "error")
        self.cfg.set("when_ready", announce)
        if "control_socket_disable" in self.cfg.settings:
            self.cfg.set("control_socket_disable", True)

    def load(self):
        return self.application


def announce(server):
    print(server.LISTENERS[0].getsockname()[1], flush=True)


def end_with_input(folder):
    while os.read(0, 1024):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def application(name):
    if name == "httpbin":
        from httpbin import app

        return app
    from bookshop import wsgi

    return wsgi.application


# Without httpbin's notice that a page of its own is missing.
logging.disable(logging.WARNING)
if os.getpgid(0) != os.getpid():
    os.setpgid(0, 0)
folder = tempfile.mkdtemp(prefix="errand-server-")
os.chdir(folder)
threading.Thread(target=end_with_input, args=[folder], daemon=True).start()
Server(application(sys.argv[1])).run()
