"""A benchmark as a folder that runs in an evaluation harness: `equipoise bench export`. One module for each harness."""
