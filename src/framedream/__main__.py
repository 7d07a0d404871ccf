"""`python -m framedream` is the program `framedream`."""

from framedream.cli import main

main()
