"""ksched with its modules imported once, for thousands of short calls.

warm_ksched.py serve SOCKET STATE     decides STATE once, so that all is imported, and listens
warm_ksched.py call SOCKET ARGUMENT…  runs `ksched ARGUMENT…` in a fork of it, with the caller's
                                      streams and exit code; ARGUMENT may be ANSWERING, for
                                      the process that answers a question of `serve mcp`
"""

import os
import socket
import sys


def main() -> int:
    action, path, *arguments = sys.argv[1:]
    if action == "call":  # starts a thousand times, and imports no more than this takes
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            socket.send_fds(connection, ["\0".join(arguments).encode()], [0, 1, 2])
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(1)[0]
    serve(path, arguments)
    return 0


def serve(path: str, arguments: list[str]) -> None:
    import signal
    from contextlib import redirect_stdout
    from functools import cache

    from typer.main import get_command

    from ksched_cli.commands import main as entry

    # The command line is the same for every call.
    application = entry.application
    built = cache(lambda *names: get_command(application(*names)))
    entry.application = lambda *names: built(*map(tuple, names))
    for command in ("schedule", "validate", "config"):
        entry.application([command])
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        exit_code(["schedule", "--state", *arguments, "-o", "json", "--trace"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                answer(connection)
            connection.close()


def answer(connection: socket.socket) -> None:
    text, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # What the streams were tells of seeking and buffers.
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    code = exit_code(text.decode().split("\0"))
    sys.stdout.flush()
    sys.stderr.flush()
    connection.send(bytes([code]))
    os._exit(0)


def exit_code(arguments: list[str]) -> int:
    from ksched_cli.commands.main import main as ksched

    if arguments == ["ANSWERING"]:
        from ksched_cli.serve.answering import main as answering

        return answering()
    sys.argv = ["ksched", *arguments]
    try:
        ksched()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
