"""Speed as ratios within one run: ours against the raw floor or a peer. `make bench`, `python -m benchmarks NAME`."""
