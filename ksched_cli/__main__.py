"""The process: `ksched`, `kubectl ksched` and `python -m ksched_cli`."""

import os
import sys

# `python -m` looks into the current folder first, where other people's files may lie: a yaml.py
# there is not ours. Where ksched itself lies there, it is a checkout.
if (
    __name__ == "__main__"
    and not sys.flags.safe_path
    and sys.path[0] == os.getcwd()
    and __file__ != os.path.join(sys.path[0], "ksched_cli", "__main__.py")
):
    del sys.path[0]

import gc
import signal

# New objects between two collections; Python's default of 700 is for programs that run longer.
# Imports make 60,000.
_GC_THRESHOLD = 100_000


def main() -> None:
    """Importing the commands takes a moment, in which Ctrl-C needs no traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Most of what is imported, and of what a command makes, stays until the end.
    # NumPy's BLAS, which nothing here needs, would start threads that wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_GC_THRESHOLD, *gc.get_threshold()[1:])
    from ksched_cli.commands.main import main as run

    try:
        run()
    finally:
        gc.freeze()  # Python's last collection need not look for garbage in what ends with it


if __name__ == "__main__":
    main()
