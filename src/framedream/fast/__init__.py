"""The same simulators, faster: the codec and the cell computed in other ways, which agree with `model/` in tests."""
