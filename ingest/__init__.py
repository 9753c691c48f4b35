"""The outside world: everything that opens a socket, runs git or reads files that are not ours."""
