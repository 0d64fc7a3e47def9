"""One local page over a folder of runs, for `equipoise view`. Reads; never writes, and never outside the folder."""
