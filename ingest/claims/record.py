"""What the extractor hands on; the record itself crosses rooms, so it lives in kwdb.records."""

from kwdb.records import Dimension, ExtractedClaim, Field

__all__ = ["Dimension", "ExtractedClaim", "Field"]
