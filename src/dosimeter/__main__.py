"""``python -m dosimeter`` is ``dosimeter``."""

from dosimeter.cli import main

main()
