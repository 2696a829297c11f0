#!/usr/bin/env bash
# Registers the protocol's own example server with a resq, and calls its tools through it. It needs npm; the package goes to
# .cache/everything.
set -euo pipefail
cd "$(dirname "$0")/.."

port=${EVERYTHING_PORT:-18090}
dir=.cache/everything
mkdir -p "$dir"
work=$(mktemp -d)
trap 'kill -9 "${pid:-}" 2>/dev/null || true; rm -rf "$work"' EXIT

[ -f "$dir/node_modules/@modelcontextprotocol/server-everything/package.json" ] ||
	(cd "$dir" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent @modelcontextprotocol/server-everything@2026.8.31)

CGO_ENABLED=0 go build -o "$work/resq" ./cmd/resq
PORT=$port node "$dir/node_modules/@modelcontextprotocol/server-everything/dist/index.js" streamableHttp >"$work/log" 2>&1 &
pid=$!
for _ in $(seq 100); do
	curl -sS -o /dev/null "http://127.0.0.1:$port/mcp" 2>/dev/null && break
	kill -0 "$pid" || { cat "$work/log"; exit 1; }
	sleep 0.2
done

printf 'version: 1\nmcp: {url: "http://127.0.0.1:%s/mcp", tools: [echo, get-sum, get-structured-content, get-tiny-image]}\n' "$port" >"$work/server.yaml"
resq() { "$work/resq" "$@" --pack store --state "$work/state"; }
failed=0
has() { # what must be in the output of a command
	local want=$1
	shift
	"$@" >"$work/out" 2>&1 || true
	if grep -qF -- "$want" "$work/out"; then
		echo "ok   $want"
	else
		echo "FAIL $want"
		cat "$work/out"
		failed=1
	fi
}
has everything/echo resq tool add "$work/server.yaml" --namespace everything
has '{"text":"Echo: 你好"}' resq call echo '{"message":"你好"}'
has 'The sum of 1 and 2 is 3.' resq call get-sum '{"a":1,"b":2}'
has '"temperature":' resq call get-structured-content '{"location":"New York"}'
has 'parts of the answer are no text' resq call get-tiny-image '{}'
has DATA_ERROR resq call get-sum '{"a":"one"}'
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
has UPSTREAM_UNAVAILABLE resq call echo '{"message":"x"}'
exit "$failed"
