"""GitHub in small: pull requests that change, and the API that shows them, on a real socket.

world    repositories and what people do to pull requests, with a clock of its own
rest     /repos, /pulls, /issues: pages, links, ETags, renames
graphql  queries, executed on GitHub's published schema
faults   what goes wrong, and when
server   the socket; counts requests and keeps the limits
"""

from emulator.faults import Fault
from emulator.server import Emulator
from emulator.world import Person, Pull, Repository, World

__all__ = ["Emulator", "Fault", "Person", "Pull", "Repository", "World"]
