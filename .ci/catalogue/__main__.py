"""Write the generated files of the checkout."""

from pathlib import Path

from catalogue import files

files.write(Path.cwd())
