"""`python -m fourhands`: the program, also where its script is not on PATH."""

import signal


def main() -> None:
    """Run the program; it is loaded here."""
    # Until it is loaded there is nothing to put in order, so Ctrl-C ends it as it ends any program: without a word.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fourhands.app import main as run

    run()


if __name__ == "__main__":
    main()
