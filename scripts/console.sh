#!/usr/bin/env bash
# Drives the console in headless Chromium, with SQLite and with MySQL or MariaDB, and looks at every page with axe. It needs node, npm
# and a chromium; npm packages go to .cache/console, and with CONSOLE_SCREENSHOTS=DIRECTORY a picture of every page goes there.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.cache/console
mkdir -p "$dir"
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if [ -z "${CHROMIUM:=$(find_chromium || true)}" ]; then # as root on Debian it is installed, as the databases are
	[ "$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-wqy-microhei >/dev/null
	CHROMIUM=$(find_chromium) || { echo "no chromium: install Debian's package chromium, or name one with CHROMIUM"; exit 1; }
fi
command -v npm >/dev/null || { [ "$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm >/dev/null; } ||
	{ echo "no npm, which brings the driver of the browser"; exit 1; }
[ -d "$dir/node_modules/axe-core" ] && [ -d "$dir/node_modules/playwright-core" ] ||
	(cd "$dir" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent playwright-core@1.65.1 axe-core@4.14.1)
export CHROMIUM PLAYWRIGHT=$dir/node_modules/playwright-core/index.mjs AXE=$dir/node_modules/axe-core/axe.min.js
scripts/test.sh go test -tags browser -count 1 -v -run Browser ./server/console
