"""Two readings of a shell command that never stand in for each other.

`prove` is exact and narrow: what it accepts is known word for word, and that is what is executed.
`readings` is broad: everything the text might run, for rules that refuse. Start reading at `lexer.py`.
"""

from bot.policy.shell.lexer import NotProved, Proof, Simple, Step, prove
from bot.policy.shell.readings import Reading, TooComplex, readings

__all__ = ["NotProved", "Proof", "Reading", "Simple", "Step", "TooComplex", "prove", "readings"]
