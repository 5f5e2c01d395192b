"""Format msgpack1: objects to bytes and back, one room per family of types; it neither compresses nor encrypts."""
