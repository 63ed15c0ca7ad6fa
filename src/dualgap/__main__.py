"""``python -m dualgap`` is the command line."""

from dualgap.cli import main

if __name__ == "__main__":
    main()
