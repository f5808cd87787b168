#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What recording costs, side by side on this machine: `churn` (pairs of cudaMalloc and cudaFree below 30 frames) on the
# simulated CUDA, native and under the preload in turn, at 1 and 2 threads; and the bytes of the trace per event.
#   scripts/bench.sh [BUILD=build] [ROUNDS=7]        (scripts/test.sh builds what it needs)
# Figures are medians over rounds. For a real GPU: python3 tests/gpu/verify.py --only cost.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(cd "${1:-build}" && pwd)
exec python3 - "$build" "${2:-7}" <<'PY'
import glob, json, os, re, shutil, statistics, subprocess, sys, tempfile, time
build, rounds = sys.argv[1], int(sys.argv[2])
work = tempfile.mkdtemp(prefix="vramtrace-bench-")
pairs = 200000
native = {**os.environ, "LD_LIBRARY_PATH": f"{build}/simulator"}
ours = {**native, "LD_PRELOAD": f"{build}/shim/libvramtrace.so", "VRAMTRACE_DIR": f"{work}/trace"}
ours_alone = {**ours, "VRAMTRACE_COLLECTOR": "0", "VRAMTRACE_DIR": f"{work}/alone", "VRAMTRACE_BUFFER_LIMIT": "4G"}

def churn(environment, threads, api):
    command = [f"{build}/tests/programs/churn", "--threads", str(threads), "--pairs", str(pairs // threads), "--depth", "30",
               "--live", "100", "--api", api]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"pair_ns (\S+)", out)[1])

print(f"{'api':7} {'threads':7} {'native':>10} {'recorded':>10} {'added per event':>16} {'without collector':>18}   (ns, medians)")
for api in ("malloc", "async"):
    for threads in (1, 2):
        found = {"native": [], "ours": [], "alone": []}
        for _ in range(rounds):
            found["native"].append(churn(native, threads, api))
            found["ours"].append(churn(ours, threads, api))
            found["alone"].append(churn(ours_alone, threads, api))
            shutil.rmtree(f"{work}/alone", ignore_errors=True)
        median = {k: statistics.median(v) for k, v in found.items()}
        print(f"{api:7} {threads:7} {median['native']:10.0f} {median['ours']:10.0f} {(median['ours'] - median['native']) / 2:16.0f} "
              f"{(median['alone'] - median['native']) / 2:18.0f}")
end = time.time() + 30
while glob.glob(f"{work}/trace/*.ring*") and time.time() < end: time.sleep(0.1)
size = sum(os.path.getsize(f) for f in glob.glob(f"{work}/trace/*.trace"))
report = json.loads(subprocess.run([f"{build}/bin/vramtrace", "report", "--json", "--no-symbol-cache", f"{work}/trace"], capture_output=True, text=True, check=True).stdout)
events = sum(p["recording"]["events"] for p in report["processes"])
lost = sum(p["recording"]["lost_events"] for p in report["processes"])
print(f"container: {size / events:.2f} bytes per event ({size} bytes, {events} events, {lost} lost)")
shutil.rmtree(work)
PY
