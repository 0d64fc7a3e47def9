"""One way in: JSON, JSONL, CSV, TSV, Parquet and tar files of anyone, text also gzipped, as rows with their place."""
