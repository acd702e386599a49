"""A proxy on the loopback address that does harm to what servers answer."""

from __future__ import annotations

import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress

FAULTS = (
    "slow",
    "cut",
    "reset",
    "reset at once",
    "silent",
    "garbage",
    "endless",
    "longer than said",
    "shorter than said",
)
_LENGTH = re.compile(rb"(?i)(content-length: *)(\d+)")
_BLOCK = 65_536
# So long a connection is silent before it is closed, and an endless answer goes on.
SILENT_SECONDS, ENDLESS_SECONDS = 8.0, 20.0
# How much of an answer passes before a damage at most.
MOST_BYTES = 20_000


class Proxy:
    """Listens until it is closed. share: of the connections that have a damage; may be set; done:
    how often each was done"""

    def __init__(self, port: int, share: float, seed: int = 0) -> None:
        """port: of the server"""
        self.share, self.done = share, Counter[str]()
        self._draw, self._lock = random.Random(seed), threading.Lock()
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._ends = threading.Event()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._ends.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def break_some(self, share: float) -> None:
        """End that share of the connections."""
        for connection in tuple(self._open):
            if self._draw.random() < share:
                self.done["broken"] += 1
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def faults(self) -> dict[str, int]:
        """How often each was done."""
        return {f"{damage} connections": count for damage, count in self.done.items() if damage}

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            damage = self._draw.choice(FAULTS) if self._draw.random() < self.share else ""
            after = self._draw.randrange(MOST_BYTES)
            seed = self._draw.random()
            self.done[damage] += 1
        if damage == "reset at once":
            reset(client)
            return
        try:
            server = socket.create_connection(("127.0.0.1", self._upstream), 5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
        self._open.add(client)
        with suppress(OSError):
            self._answer(server, client, damage, after, random.Random(seed))
        self._open.discard(client)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        """Requests."""
        with suppress(OSError):
            while data := client.recv(_BLOCK):
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _answer(
        self,
        server: socket.socket,
        client: socket.socket,
        damage: str,
        after: int,
        draw: random.Random,
    ) -> None:
        """Pass on what the server says, until it is time for the damage."""
        passed = 0
        while data := server.recv(_BLOCK):
            if damage.endswith("than said"):
                data = _LENGTH.sub(_twice if damage.startswith("longer") else _half, data)
            elif damage and passed + len(data) > after:
                place = max(after - passed, 0)
                client.sendall(data[:place])
                data = data[place:]
                self._harm(client, damage, data, draw)
                if damage != "slow":
                    return
                damage, data = "", b""
            client.sendall(data)
            passed += len(data)

    def _harm(self, client: socket.socket, damage: str, data: bytes, draw: random.Random) -> None:
        match damage:
            case "slow":
                for place in range(0, min(len(data), 400), 4):
                    client.sendall(data[place : place + 4])
                    self._ends.wait(0.05)
                client.sendall(data[400:])
            case "reset":
                reset(client)
            case "silent":
                self._ends.wait(SILENT_SECONDS)
            case "garbage":
                client.sendall(draw.randbytes(draw.randrange(1, 4000)))
            case "endless":
                deadline = time.monotonic() + ENDLESS_SECONDS
                while time.monotonic() < deadline and not self._ends.wait(0.02):
                    client.sendall(b" " * _BLOCK * 4)


def _twice(match: re.Match[bytes]) -> bytes:
    return match[1] + b"%d" % (int(match[2]) * 2)


def _half(match: re.Match[bytes]) -> bytes:
    return match[1] + b"%d" % (int(match[2]) // 2)


def reset(connection: socket.socket) -> None:
    """Close it so that the other side sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RD)
    connection.close()
