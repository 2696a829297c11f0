#!/usr/bin/env bash
# Finds a MySQL or MariaDB server and a PostgreSQL server for the tests, or starts private ones.
#
#   eval "$(scripts/databases.sh start)"          sets RESQ_TEST_MYSQL and RESQ_TEST_POSTGRES, and RESQ_TESTDB_STARTED
#   scripts/databases.sh stop [mysql] [postgres]  ends those that start began, and no others
#
# For each of the two, the first of these that works is used:
#   1. the address in RESQ_TEST_MYSQL or RESQ_TEST_POSTGRES
#   2. a server on the loopback interface that lets root (3306) or postgres (5432) in without a password
#   3. an installed server, started with a data directory of its own below .testdb and a port of its own
#   4. as root on Debian: the same after installing the packages
# Otherwise it says what to do and fails. RESQ_WITHOUT="mysql" leaves one out, by name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD/.testdb

say() { printf 'databases: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
without() { [[ " ${RESQ_WITHOUT//,/ } " == *" $1 "* ]]; }
RESQ_WITHOUT=${RESQ_WITHOUT:-}

# An open port is enough to say that a server is there; whether it lets us in, its client says.
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_port() {
	local p
	for ((p = $1; p < $1 + 200; p++)); do listens "$p" || { echo "$p"; return; }; done
	die "no free port from $1 on"
}

first() { local c; for c in "$@"; do if have "$c"; then command -v "$c"; return; fi; done; return 1; }
mysql_server() { PATH=$PATH:/usr/sbin:/usr/local/sbin first mariadbd mysqld; }
mysql_client() { first mariadb mysql; }
pg_bin() { # the directory with initdb and pg_ctl; the newest installed version
	local d
	if have initdb && have pg_ctl; then dirname "$(readlink -f "$(command -v initdb)")"; return; fi
	d=$(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin | sort -V | tail -n 1)
	[[ -x $d/initdb && -x $d/pg_ctl ]] && echo "$d"
}

# Servers refuse to run as root, so root lends them a user of their own and a directory which that user can reach.
as() { # as USER COMMAND…
	local user=$1; shift
	if [[ $(id -u) != 0 ]]; then "$@"
	elif have runuser; then runuser -u "$user" -- "$@"
	else su -s /bin/sh "$user" -c "$(printf '%q ' "$@")"; fi
}
home_for() { # home_for NAME USER: the directory of a private server
	local dir=$here/$1
	if [[ ! -e $dir ]]; then
		rm -f "$dir" # a link to a directory that is gone
		mkdir -p "$dir"
		if [[ $(id -u) == 0 ]]; then
			chown "$2" "$dir"
			if ! as "$2" test -w "$dir" 2>/dev/null; then # somewhere above is closed to that user
				rmdir "$dir"
				ln -s "$(mktemp -d "${TMPDIR:-/tmp}/resq-testdb-XXXXXX")" "$dir"
				chown "$2" "$(readlink -f "$dir")"
			fi
		fi
	fi
	readlink -f "$dir"
}
server_user() { # the first of these users that exists; oneself when not root
	[[ $(id -u) == 0 ]] || { id -un; return; }
	local u
	for u in "$@" nobody; do id -u "$u" >/dev/null 2>&1 && { echo "$u"; return; }; done
}

mysql_answers() { # mysql_answers PORT
	local c
	listens "$1" || return 1
	c=$(mysql_client) || return 1
	"$c" --no-defaults -h 127.0.0.1 -P "$1" -u root --connect-timeout=5 -e 'SELECT 1' >/dev/null 2>&1
}

start_mysql() {
	local server client user dir port sock pid
	server=$(mysql_server) && client=$(mysql_client) || return 1
	user=$(server_user mysql)
	dir=$(home_for mysql "$user")
	if port=$(cat "$dir/port" 2>/dev/null) && mysql_answers "$port"; then # of another run beside this one, which ends it
		echo "export RESQ_TEST_MYSQL='mysql://root@127.0.0.1:$port/'"
		return
	fi
	sock=$(mktemp -u "${TMPDIR:-/tmp}/resq-XXXXXX.sock") # a short path: sockets allow about a hundred bytes
	if [[ ! -e $dir/data/ready ]]; then
		say "making a MySQL data directory in $dir"
		rm -rf "$dir/data"
		if have mariadb-install-db && [[ $server == *mariadbd || $("$server" --version) == *MariaDB* ]]; then
			as "$user" mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal --skip-test-db >"$dir/install.log" 2>&1
		else
			as "$user" "$server" --no-defaults --initialize-insecure --datadir="$dir/data" >"$dir/install.log" 2>&1
		fi || { tail -n 20 "$dir/install.log" >&2; return 1; }
	fi
	port=$(free_port 33306)
	say "starting $(basename "$server") on port $port"
	as "$user" "$server" --no-defaults --datadir="$dir/data" --port="$port" --bind-address=127.0.0.1 --socket="$sock" \
		--pid-file="$dir/pid" --character-set-server=utf8mb4 --skip-log-bin --innodb-doublewrite=0 --innodb-flush-log-at-trx-commit=0 \
		>"$dir/server.log" 2>&1 </dev/null &
	disown
	for _ in $(seq 300); do [[ -S $sock && -s $dir/pid ]] && break; sleep 0.2; done
	pid=$(cat "$dir/pid" 2>/dev/null) || { tail -n 20 "$dir/server.log" >&2; return 1; }
	if [[ ! -e $dir/data/ready ]]; then # root may come over TCP, and nobody without a name
		"$client" --no-defaults -S "$sock" -u root >>"$dir/install.log" 2>&1 <<-'SQL' || { tail -n 20 "$dir/install.log" >&2; return 1; }
			CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';
			GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
		SQL
		as "$user" touch "$dir/data/ready"
	fi
	mysql_answers "$port" || { say "the server that was started does not answer (pid $pid)"; tail -n 20 "$dir/server.log" >&2; return 1; }
	echo "$port" >"$dir/port"
	echo "export RESQ_TEST_MYSQL='mysql://root@127.0.0.1:$port/'"
	started+=(mysql)
}

pg_answers() { # pg_answers PORT
	listens "$1" || return 1
	local psql
	psql=$(first psql) || psql=$(pg_bin)/psql
	[[ -x $psql ]] && PGCONNECT_TIMEOUT=5 "$psql" -h 127.0.0.1 -p "$1" -U postgres -w -d postgres -c 'SELECT 1' >/dev/null 2>&1
}

start_postgres() {
	local bin user dir port
	bin=$(pg_bin) || return 1
	user=$(server_user postgres)
	dir=$(home_for postgres "$user")
	if port=$(cat "$dir/port" 2>/dev/null) && pg_answers "$port"; then # of another run beside this one, which ends it
		echo "export RESQ_TEST_POSTGRES='postgres://postgres@127.0.0.1:$port/postgres'"
		return
	fi
	if [[ ! -e $dir/data/PG_VERSION ]]; then
		say "making a PostgreSQL data directory in $dir"
		(cd / && as "$user" "$bin/initdb" -D "$dir/data" -U postgres --auth=trust -E UTF8 --locale=C.UTF-8 -N) >/dev/null 2>&1 ||
			(rm -rf "$dir/data" && cd / && as "$user" "$bin/initdb" -D "$dir/data" -U postgres --auth=trust -E UTF8 --locale=C -N) >&2 || return 1
	fi
	port=$(free_port 35432)
	say "starting PostgreSQL on port $port"
	(cd / && as "$user" "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/server.log" -w -t 60 \
		-o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off" start) >&2 </dev/null ||
		{ tail -n 20 "$dir/data/server.log" >&2; return 1; }
	pg_answers "$port" || { say "the server that was started does not answer"; return 1; }
	echo "$port" >"$dir/port"
	echo "export RESQ_TEST_POSTGRES='postgres://postgres@127.0.0.1:$port/postgres'"
	started+=(postgres)
}

install_packages() { # install_packages PACKAGE…; without starting the services that come with them
	[[ $(id -u) == 0 ]] && have apt-get || return 1
	say "installing $*"
	{
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$@" ||
			{ apt-get update && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$@"; }
	} >&2 </dev/null
}

find_mysql() {
	if without mysql; then say "mysql is named in RESQ_WITHOUT: nothing is tested on it"; return; fi
	if [[ -n ${RESQ_TEST_MYSQL:-} ]]; then say "MySQL: the server of RESQ_TEST_MYSQL"; return; fi
	if mysql_answers 3306; then echo "export RESQ_TEST_MYSQL='mysql://root@127.0.0.1:3306/'"; return; fi
	{ mysql_server && mysql_client; } >/dev/null || install_packages mariadb-server mariadb-client || true
	start_mysql || die "no MySQL or MariaDB server. Do one of these and run again:
  - install one (Debian: apt-get install mariadb-server); it need not run
  - export RESQ_TEST_MYSQL=mysql://USER:PASSWORD@HOST:PORT/ of a server where databases named resq_… may be made
  - export RESQ_WITHOUT=mysql to leave it untested"
}

find_postgres() {
	if without postgres; then say "postgres is named in RESQ_WITHOUT: nothing is tested on it"; return; fi
	if [[ -n ${RESQ_TEST_POSTGRES:-} ]]; then say "PostgreSQL: the server of RESQ_TEST_POSTGRES"; return; fi
	if pg_answers 5432; then echo "export RESQ_TEST_POSTGRES='postgres://postgres@127.0.0.1:5432/postgres'"; return; fi
	pg_bin >/dev/null || install_packages postgresql || true
	start_postgres || die "no PostgreSQL server. Do one of these and run again:
  - install one (Debian: apt-get install postgresql); it need not run
  - export RESQ_TEST_POSTGRES=postgres://USER:PASSWORD@HOST:PORT/DATABASE of a server where databases named resq_… may be made
  - export RESQ_WITHOUT=postgres to leave it untested"
}

# stop_pid ends one process, but only while its command line names our directory: a number may be used again.
stop_pid() { # stop_pid PID DIRECTORY SIGNAL
	local pid=$1
	[[ -n $pid ]] && kill -0 "$pid" 2>/dev/null || return 0
	if [[ -r /proc/$pid/cmdline ]] && ! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF -- "$2"; then return 0; fi
	kill "-$3" "$pid" 2>/dev/null || return 0
	for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.1; done
	kill -KILL "$pid" 2>/dev/null || true
}

stop() {
	local name dir
	for name in "$@"; do
		dir=$(readlink -f "$here/$name" 2>/dev/null) || continue
		case $name in
		mysql) stop_pid "$(cat "$dir/pid" 2>/dev/null)" "$dir" TERM ;;
		postgres) stop_pid "$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null)" "$dir" INT ;;
		*) die "there is no server $name" ;;
		esac
	done
}

case ${1:-} in
start)
	started=()
	trap '[[ $? == 0 ]] || stop ${started[@]+"${started[@]}"}' EXIT
	find_mysql
	find_postgres
	echo "export RESQ_TESTDB_STARTED='${started[*]-}'"
	;;
stop)
	shift
	stop "$@"
	;;
*) die "usage: databases.sh start | stop [mysql] [postgres]" ;;
esac
