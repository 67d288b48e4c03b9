"""``python -m optimaldp``: the command line, where no script of that name is on the path."""

from optimaldp.cli import main

if __name__ == "__main__":
    main()
