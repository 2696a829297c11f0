#!/usr/bin/env bash
# Registers the protocol's own example server with a resq, and calls its tools through it. It needs npm; the package goes to
# .cache/everything. Where the server cannot be had — no npm, no network, a Node that it does not run on — the script says so and
# ends with the status 77: that says nothing about resq.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2026.8.31
dir=.cache/everything
work=$(mktemp -d)
trap 'kill -9 "${pid:-}" 2>/dev/null || true; rm -rf "$work"' EXIT

left_out() {
	printf 'LEFT OUT: %s\n' "$*"
	exit 77
}
for need in npm node timeout; do
	command -v "$need" >/dev/null || left_out "$need is not installed"
done
if [ ! -f "$dir/installed-$version" ]; then
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && echo '{"private":true}' >package.json && timeout -k 5 "${EVERYTHING_INSTALL_SECONDS:-120}" npm install --no-audit --no-fund --silent \
		--fetch-retries=1 --fetch-timeout=30000 "@modelcontextprotocol/server-everything@$version" </dev/null) ||
		left_out "the package @modelcontextprotocol/server-everything@$version could not be installed"
	touch "$dir/installed-$version"
fi

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
port=${EVERYTHING_PORT:-18090}
while listens "$port"; do port=$((port + 1)); done

CGO_ENABLED=0 go build -o "$work/resq" ./cmd/resq
PORT=$port node "$dir/node_modules/@modelcontextprotocol/server-everything/dist/index.js" streamableHttp >"$work/log" 2>&1 </dev/null &
pid=$!
for _ in $(seq 150); do
	if listens "$port"; then break; fi
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.2
done
listens "$port" || { cat "$work/log"; left_out "the example server does not start"; }

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
