#!/bin/bash
# The run of `run.py --only every` on a machine with a GPU that keeps its disk between commands of ten minutes:
#
#   device.sh go SECONDS    unpacked at HERE: DATA with captions and photos, minilm/, lite2.whl, deps/ and code/ (this
#                           tree); starts everything in the background, then waits
#   device.sh wait SECONDS  until everything is done, or so many seconds have passed
#   device.sh pack          what is to be kept, into $OUT
#
# T0 (seconds) is when the lease began: no model is begun after T0 + LAST, and all is ended at T0 + END. A model is kept
# as soon as it is done. Three commands work on one list, row by row over the three bases, and leave each other's models
# alone: three at a time of those with most texts, two of small ones, seven of the others. A step needs 1.2 GB of GPU
# memory for 256 texts, so up to 14, 5 and 9 GB; twice that where the allocator cannot let its segments grow.
set -u
HERE=${HERE:-$HOME/coco}
export PYTHONPATH=$HERE/deps:$HERE/code/src:$HERE/code PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
DEVICE=${DEVICE:-cuda} LAST=${LAST:-1040} END=${END:-1150} CORES=${CORES:-15} EPOCHS=${EPOCHS:-4}
HEAVY="dac-swaps degla-swaps clic-swaps cs-swaps"
SMALL="base control hn-swaps hp-hn-swaps early-base control-half early-control"
REST="ce-clip-swaps ours-swaps negclip-swaps svlc-swaps fsc-swaps read-swaps ce-clip-object ce-clip-attribute
  ce-clip-relation ce-clip-action ce-clip-fixed-10 ce-clip-fixed-2 ce-clip-fixed-5 ce-clip-half early-ce-clip"
SELF=$(realpath "$0")  # before the folder changes
cd "$HERE/code" || exit 1

works() { timeout 60 python3 -c "import torch; print(torch.ones(5_000_000).cuda().sum())"; }

mps() { # several processes at a time on one GPU; this and growing segments are left out where they do not work
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
  mkdir -p /tmp/mps /tmp/mps-log
  nvidia-cuda-mps-control -d && works && return
  unset PYTORCH_CUDA_ALLOC_CONF
  works && return
  echo quit | nvidia-cuda-mps-control
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

left() { echo $(($(cat "$HERE/T0") + $1 - $(date +%s))); }

bases() { # again, should one have failed
  python3 -m studies.coco.base "$HERE/DATA" --wheel "$HERE/lite2.whl" --minilm "$HERE/minilm" --out "$HERE/OUT" \
    --device "$DEVICE" --jobs "${BASES:-3}" --readers "$CORES" --epochs "$EPOCHS" --only m m.1 m.2 e e.1 e.2
}

lane() { # NAME JOBS MODEL...
  timeout -k 5 "$(left "$END")" python3 -m studies.coco.run "$HERE/DATA" --out "$HERE/OUT" --device "$DEVICE" \
    --jobs "$2" --seeds ${SEEDS:-0 1 2} --start m --seconds "$(left "$LAST")" --only "${@:3}" >"$HERE/$1.log" 2>&1
}

all() {
  if [ "$DEVICE" = cuda ]; then mps; fi
  (bases; ls "$HERE"/OUT/pooled-{m,m.1,m.2,e,e.1,e.2}.npz || bases) >"$HERE/base.log" 2>&1 &
  if [ ! -e "$HERE/DATA/train-swaps.jsonl" ]; then # not written beforehand, or not all
    python3 -m studies.coco.data texts --out "$HERE/DATA" --workers "$CORES" >"$HERE/texts.log" 2>&1
  fi
  heavy=$([ -n "${PYTORCH_CUDA_ALLOC_CONF:-}" ] && echo 3 || echo 2)
  # early-base waits for the last bases, which need the memory until then
  lane heavy "${FEW:-$heavy}" early-base $HEAVY $REST &
  sleep 2
  lane small "${FEW:-2}" $SMALL $REST &
  sleep 2
  lane rest "${MANY:-7}" $REST $SMALL &
  wait
  touch "$HERE/done"
}

case $1 in
  go)
    python3 -c "import PIL.features, pydantic, torch, transformers; print(PIL.__version__, pydantic.VERSION, \
torch.__version__, transformers.__version__, 'AVIF', PIL.features.check('avif'), torch.cuda.is_available())"
    ls "$HERE" "$HERE/DATA/photos"
    setsid bash "$SELF" all </dev/null >"$HERE/all.log" 2>&1 &
    bash "$SELF" wait "${2:-570}"
    ;;
  all) all ;;
  wait)
    until [ -e "$HERE/done" ] || [ "$SECONDS" -gt "${2:-570}" ]; do sleep 2; done
    for log in all texts base heavy small rest; do
      echo "== $log"
      tr '\r' '\n' <"$HERE/$log.log" 2>/dev/null | tail -n 20 | cut -c1-150
    done
    ls "$HERE/OUT/m/final" 2>/dev/null | grep -c json
    nvidia-smi | tail -n 30
    ;;
  pack)
    tar czf "$OUT/logs.tgz" -C "$HERE" $(cd "$HERE" && ls ./*.log)
    python3 -m studies.coco.keep "$HERE/OUT/m" --stages final --out "$OUT/a.jsonl"
    python3 -m studies.coco.keep "$HERE/OUT" --stages base --out "$OUT/bases.jsonl"
    ls -la "$OUT"
    ;;
esac
