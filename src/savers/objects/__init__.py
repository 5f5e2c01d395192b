"""The object saver's rooms: key layout and object formats (pure), plans of requests (pure), and the shell that carries them out."""
