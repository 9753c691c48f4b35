"""Full-text search over pages: one function, the same terms and filters on both engines."""

from kwdb.search.filters import Filters
from kwdb.search.run import Hit, SearchResult, search_pages

__all__ = ["Filters", "Hit", "SearchResult", "search_pages"]
