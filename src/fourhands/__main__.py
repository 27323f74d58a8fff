"""`python -m fourhands`: the program, also where its script is not on PATH."""

from fourhands.app import main

if __name__ == "__main__":
    main()
