#!/bin/sh
# Every table of both papers on the built-in world -> docs/appendix/tables.md, from an empty clone.
#   studies/all_quick.sh                               2 cores: under an hour
#   studies/all_quick.sh --device cuda --jobs 12       a GPU: under 10 minutes
# PYTHON=python3 studies/all_quick.sh ...              takes that Python with what it has installed, and installs nothing
set -eu
cd "$(dirname "$0")/.."
if [ -z "${PYTHON:-}" ]; then
    make .venv/.ready
    PYTHON=.venv/bin/python
    "$PYTHON" -m pip install --quiet --constraint constraints.txt --editable '.[lora]'  # SVLC and DAC train adapters
fi
PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" \
    exec "$PYTHON" -m studies.tables.table all --jobs 2 "$@"
