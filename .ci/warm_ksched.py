"""ksched with its modules imported once, for thousands of short calls.

warm_ksched.py serve SOCKET STATE     decides STATE once, so that all is imported, and listens
warm_ksched.py call SOCKET ARGUMENT…  runs `ksched ARGUMENT…` in a fork of it, with the caller's
                                      streams and exit code; ARGUMENT may be ANSWERING, for
                                      the process that answers a question of `serve mcp`
"""

import json
import os
import signal
import socket
import sys
from contextlib import redirect_stdout


def main() -> int:
    action, path, *arguments = sys.argv[1:]
    if action == "call":
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            socket.send_fds(connection, [json.dumps(arguments).encode()], [0, 1, 2])
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(1)[0]
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
    code = exit_code(json.loads(text))
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
