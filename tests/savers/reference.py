"""What InMemorySaver can be asked as the model of a saver; says where a release of it is no model, and compares nothing itself."""

import pytest
from langgraph.checkpoint import base

orders_writes = pytest.mark.skipif(
    not hasattr(base, "writes_sort_key"),
    reason="before langgraph-checkpoint 4.3 InMemorySaver returns writes in the order they came, so it is no model for their order",
)
