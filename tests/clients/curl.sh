#!/usr/bin/env bash
# Each curl line of the guide, run as it is written, from top to bottom. A line that says `# 409` behind it gets that
# status; every other one under 400.
set -euo pipefail
if ! curl --help all | grep -q -- --json; then echo "curl is older than --json"; exit 1; fi
count=0
while IFS= read -r line; do
  wanted="$(sed -nE 's/.*# ([0-9]{3})$/\1/p' <<<"$line")"
  status="$(bash -c "${line/#curl/curl --max-time 20 -o /dev/null -w '%{http_code}'}")"
  echo "$status  $line"
  if [ -n "$wanted" ] && [ "$status" != "$wanted" ]; then echo "expected $wanted"; exit 1; fi
  if [ -z "$wanted" ] && { [ "$status" -lt 200 ] || [ "$status" -ge 400 ]; }; then echo "expected a status under 400"; exit 1; fi
  count=$((count + 1))
done < <(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on && /^curl / && !/:9[0-9]{3}/' "$CLIENTS/../../docs/guide/service.md")
if [ "$count" -lt 4 ]; then echo "the guide has $count curl lines"; exit 1; fi
