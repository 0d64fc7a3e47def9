"""Downloads benchmark files from their official addresses and unpacks archives. Reads no annotations."""
