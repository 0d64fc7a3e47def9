#!/bin/bash
# The run of `run.py --only every` on a machine with a GPU that keeps its disk between commands of ten minutes:
#
#   device.sh go     unpacked at HERE: DATA with captions and photos, minilm/, lite2.whl, deps/ and code/ (this tree)
#   device.sh wait   until everything is done, or nearly ten minutes have passed
#   device.sh pack   what is to be kept, into $OUT
#
# The processor writes the hard texts while the GPU trains the bases; T0 (seconds) is when the lease began.
set -u
HERE=${HERE:-$HOME/coco}
export PYTHONPATH=$HERE/deps:$HERE/code/src:$HERE/code PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
DEVICE=${DEVICE:-cuda} LAST=${LAST:-960} JOBS=${JOBS:-12} CORES=${CORES:-14}
SELF=$(realpath "$0")  # before the folder changes
cd "$HERE/code" || exit 1

mps() { # several processes at a time on one GPU; left out where it does not start
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
  mkdir -p /tmp/mps /tmp/mps-log
  nvidia-cuda-mps-control -d && timeout 60 python3 -c "import torch; print(torch.ones(1).cuda())" && return
  echo quit | nvidia-cuda-mps-control
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

all() {
  if [ "$DEVICE" = cuda ]; then mps; fi
  (python3 -m studies.coco.data texts --out "$HERE/DATA" --workers "$CORES"; touch "$HERE/texts") >"$HERE/texts.log" 2>&1 &
  python3 -m studies.coco.base "$HERE/DATA" --wheel "$HERE/lite2.whl" --minilm "$HERE/minilm" --out "$HERE/OUT" \
    --device "$DEVICE" --jobs 3 --readers "$CORES" --only ${BASES:-e e.1 e.2 m m.1 m.2} >"$HERE/base.log" 2>&1 &
  base=$!
  until [ -e "$HERE/texts" ]; do sleep 1; done
  seconds=$(($(cat "$HERE/T0") + LAST - $(date +%s)))
  python3 -m studies.coco.run "$HERE/DATA" --out "$HERE/OUT" --device "$DEVICE" --jobs "$JOBS" --seeds 0 1 2 \
    --start m --only ${ONLY:-every} --seconds "$seconds" >"$HERE/run.log" 2>&1
  wait $base
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
    for log in all texts base run; do
      echo "== $log"
      tr '\r' '\n' <"$HERE/$log.log" 2>/dev/null | tail -n 25 | cut -c1-160
    done
    ls "$HERE/OUT/m/final" 2>/dev/null | grep -c json
    nvidia-smi | tail -n 30
    ;;
  pack)
    python3 -m studies.coco.keep "$HERE/OUT/m" --stages final --out "$OUT/a.jsonl"
    python3 -m studies.coco.keep "$HERE/OUT" --stages base --out "$OUT/bases.jsonl"
    tar czf "$OUT/logs.tgz" -C "$HERE" all.log texts.log base.log run.log
    ls -la "$OUT"
    ;;
esac
