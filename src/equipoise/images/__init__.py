"""Images of strangers: where they lie (folders, tar and Parquet shards) and opening them safely. No model here."""
