#!/usr/bin/env bash
# The description of the interface holds: it is valid, so are its examples, and requests made up from it are answered
# as it says, by every check that schemathesis has.
set -euo pipefail
bin="$(python_with schemathesis.txt)"
"$bin/python" "$CLIENTS/description.py" "$ADDRESS" "$WORK/openapi.json"
cd "$WORK"

# First with names of any kind, then with a thread that is there.
"$bin/schemathesis" --config-file "$CLIENTS/schemathesis.toml" run openapi.json --url "$ADDRESS" \
  --checks all --seed 12 --max-time 60 --request-timeout 20 --no-color
curl -sSf "$ADDRESS/chat" --json '{"message": "7*6?", "thread_id": "demo"}' >/dev/null
"$bin/schemathesis" --config-file "$CLIENTS/schemathesis_demo.toml" run openapi.json --url "$ADDRESS" \
  --checks all --seed 12 --max-time 45 --request-timeout 20 --no-color --exclude-method DELETE
