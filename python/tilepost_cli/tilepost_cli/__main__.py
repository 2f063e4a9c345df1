"""`python -m tilepost_cli`: the program, where its folder is not on PATH."""
from tilepost_cli import main

main()
