"""The database as tools and resources for agents, through the Model Context Protocol.

The tools ask the same functions as the command line. Each answer is bounded in rows, bytes and
time, says what was cut, and ends with how fresh the data is.
"""
