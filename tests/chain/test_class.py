"""What the composed serializer inherits from LangGraph's class is only what it overrides: anything else would go around the layers."""

from __future__ import annotations

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint import LayeredSerializer


def test_every_public_method_of_langgraphs_class_is_overridden() -> None:
    inherited = {name for name in vars(JsonPlusSerializer) if not name.startswith("_")}
    assert inherited == {"dumps_typed", "loads_typed", "with_msgpack_allowlist"}
    assert inherited <= set(vars(LayeredSerializer))
