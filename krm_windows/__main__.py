"""`python -m krm_windows`: the same entry point as the console script."""

from krm_windows.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
