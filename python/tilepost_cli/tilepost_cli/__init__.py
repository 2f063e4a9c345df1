"""tilepost from a wheel. This folder is an install prefix: bin/, include/, lib/cmake/tilepost/."""
import os
import signal
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "tilepost"


def main():
    """Becomes the program, with the arguments of this process."""
    # Python ignores these signals, and a program that it starts would go on ignoring them.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tilepost: error: cannot run '{PROGRAM}': {error.strerror}; install tilepost-cli again")
