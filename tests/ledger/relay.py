"""A relay between a client and a PostgreSQL server, that cuts connections where a test wants them cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from sqlalchemy.engine import make_url


class Relay:
    """Listens on this machine and passes everything on, until `cut` says otherwise.

    `cut` is None, "before commit" (the commit never reaches the server) or "after commit" (it does, and the server's
    answer never reaches the client). Each cut happens once.
    """

    def __init__(self, address: str) -> None:
        with psycopg.connect(address) as there:
            self._target = there.info.host, there.info.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._url = make_url(address)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.cut: str | None = None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """The server's address through this relay."""
        url = self._url.set(host="127.0.0.1", port=self._port, query={"sslmode": "disable", "gssencmode": "disable"})
        return url.render_as_string(hide_password=False)

    def cut_all(self) -> None:
        """Cut every connection now."""
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()
        self.cut_all()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._connect()
            self._open += [client, server]
            ends = [client, server]
            for way in ((client, server, ends, True), (server, client, ends, False)):
                self._threads.append(threading.Thread(target=self._pass, args=way, daemon=True))
                self._threads[-1].start()

    def _connect(self) -> socket.socket:
        host, port = self._target
        if host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{host}/.s.PGSQL.{port}")
            return server
        return socket.create_connection((host, port))

    def _pass(self, source: socket.socket, sink: socket.socket, ends: list[Any], to_server: bool) -> None:
        committing = False
        with suppress(OSError):
            while data := source.recv(65536):
                if to_server and self.cut and b"COMMIT\0" in data:
                    committing, self.cut, how = True, None, self.cut
                    self.cuts += 1
                    if how == "after commit":
                        ends[0].shutdown(socket.SHUT_RDWR)  # the client hears nothing more
                        sink.sendall(data)
                    break
                sink.sendall(data)
        if committing:
            threading.Event().wait(0.05)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()


@contextmanager
def relay(address: str) -> Iterator[Relay]:
    """A relay in front of a server."""
    made = Relay(address)
    try:
        yield made
    finally:
        made.close()
