"""JSON and Parquet as strangers write them: bounded, unambiguous, every failure an error with its place."""
