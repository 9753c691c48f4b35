"""Seeds: facts in YAML, validated and loaded by the one store; loading twice writes nothing."""

from kwdb.seed.load import load_seeds

__all__ = ["load_seeds"]
