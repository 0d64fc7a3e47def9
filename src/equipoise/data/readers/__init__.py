"""Reads users' files: JSON, JSONL, CSV, TSV, Parquet and tar (text also gzipped), as rows that know their place."""
