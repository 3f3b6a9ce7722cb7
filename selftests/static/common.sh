# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Common to the static checks: paths, and kernel headers by name.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../vm/lib.sh"
cd "$top"

# headers_for NAME|DIRECTORY: sets release and headers.
headers_for()
{
	case $1 in
	*/*)	headers=$1
		release=$(cat "$1/include/config/kernel.release") ;;
	*)	read -r release _ < <(kernel_package "$1") ||
			die "no headers for $1: run selftests/install-packages"
		headers=/lib/modules/$release/build ;;
	esac
}

# sources DIRECTORY...: the C files below, those that git would keep.
sources()
{
	git ls-files -z --cached --others --exclude-standard -- "$@" |
		grep -z '\.[ch]$' | sort -zu || :
}

# module_build LOG VARIABLE...: build the module out of sight.
module_build()
{
	local log=$1 dir=build/static/${0##*/}
	shift

	rm -rf "${dir:?}/$release"
	make --no-print-directory -j "$(nproc)" module "KVER=$release" \
		"KDIR=$headers" "B=$dir" "$@" >"$log" 2>&1 </dev/null
}
