"""Getting benchmark files from their official addresses: plans, downloads, archives. No reading of annotations here."""
