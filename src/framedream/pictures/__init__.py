"""Pictures and films of frames: what people look at."""
