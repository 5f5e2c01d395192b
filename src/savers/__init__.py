"""LangGraph checkpointers: the object saver."""
