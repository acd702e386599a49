"""The process: `ksched`, `kubectl ksched` and `python -m ksched_cli`."""

import signal


def main() -> None:
    """Importing the commands takes a moment, in which Ctrl-C needs no traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ksched_cli.commands.main import main as run

    run()


if __name__ == "__main__":
    main()
