"""kwdb: what is known about GPU-kernel optimisation, how it is stored, found and shown."""

__version__ = "0.1.0"
__all__ = ["__version__"]
