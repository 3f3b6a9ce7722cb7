# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What run, kernels and test share: where things are kept, which kernel a
# name means, and how a kernel is brought into the cache.
#
# Cache layout, under ${KRMSG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/krmsg}:
#
#   deb/		kernel image packages as downloaded
#   kernel/KEY/		one unpacked kernel: image, vmlinux, release, config,
#			lib/modules/RELEASE (modules not compressed)
#   kernel/KEY/initramfs-HASH.cpio
#   source/KEY/		parts of the kernel source (scripts, siw)
#   lock/		lock files, never removed

# shellcheck disable=SC2034
vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$vm_dir/../.." && pwd)
cache=${KRMSG_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/krmsg}

# Debian stable's two kernels: the name used here, and the metapackages.
declare -A image_meta=([6.1]=linux-image-amd64 [6.12]=linux-image-6.12-amd64)
declare -A header_meta=([6.1]=linux-headers-amd64
			[6.12]=linux-headers-6.12-amd64)

die()
{
	echo "${0##*/}: $*" >&2
	exit "${exit_status:-2}"
}

say()
{
	[ -z "${verbose:-}" ] || echo "${0##*/}: $*" >&2
}

# with_lock NAME COMMAND...: run COMMAND while no other process holds NAME.
with_lock()
{
	local name=$1 fd rc=0
	shift
	mkdir -p "$cache/lock"
	exec {fd}>"$cache/lock/$name"
	flock "$fd"
	"$@" || rc=$?
	exec {fd}>&-
	return $rc
}

# kernel_package NAME: print "RELEASE VERSION" of the installed headers, the
# kernel that modules are built for.
kernel_package()
{
	local meta=${header_meta[$1]} pkg release version

	pkg=$(dpkg-query -W -f '${Depends}' "$meta" 2>/dev/null |
	      grep -o 'linux-headers-[^ ,]*' | head -n 1)
	[ -n "$pkg" ] || return 1
	release=${pkg#linux-headers-}
	version=$(dpkg-query -W -f '${Version}' "$pkg" 2>/dev/null) || return 1
	echo "$release $version"
}

# The file name that apt gives a package: a colon in the version is quoted.
deb_name()
{
	echo "linux-image-$1_${2//:/%3a}_amd64.deb"
}

# kernel_deb RELEASE VERSION: print the path of the image package's file in
# the cache; download it if need be.
kernel_deb()
{
	local deb tmp
	deb=$cache/deb/$(deb_name "$1" "$2")

	if [ ! -e "$deb" ]; then
		mkdir -p "$cache/deb"
		tmp=$(mktemp -d -p "$cache/deb")
		if ! (cd "$tmp" &&
		      apt-get -q download "linux-image-$1=$2") \
				>"$tmp/log" 2>&1 </dev/null; then
			cat "$tmp/log" >&2
			rm -rf "$tmp"
			return 1
		fi
		mv "$tmp"/*.deb "$deb"
		rm -rf "$tmp"
	fi
	echo "$deb"
}

# The kernel proper, as an ELF file that QEMU starts directly: a packed image
# takes seconds to unpack itself on an emulated processor. Where the format is
# not known the image is used as it is.
uncompress_image()
{
	python3 - "$@" 2>/dev/null <<'END' || cp "$1" "$2"
import struct, subprocess, sys
image = open(sys.argv[1], 'rb').read()
setup = (image[0x1f1] or 4) + 1
offset, length = struct.unpack_from('<II', image, 0x248)
packed = image[setup * 512 + offset:][:length]
tools = {b'\xfd7zXZ': 'xz', b'\x28\xb5\x2f\xfd': 'zstd', b'\x1f\x8b': 'gzip'}
tool = next(t for magic, t in tools.items() if packed.startswith(magic))
if tool != 'gzip':
    packed = packed[:-4]	# its size, appended
elf = subprocess.run([tool, '-dc'], input=packed, check=True,
		     stdout=subprocess.PIPE).stdout
assert elf.startswith(b'\x7fELF')
open(sys.argv[2], 'wb').write(elf)
END
}

# unpack_kernel DIR RELEASE DEB
unpack_kernel()
{
	local dir=$1 release=$2 deb=$3 tmp

	rm -rf "$cache"/kernel/tmp.*."${dir##*/}"
	tmp=$(mktemp -d -p "$cache/kernel" --suffix=".${dir##*/}")
	dpkg-deb -x "$deb" "$tmp/x"
	mv "$tmp/x/boot/vmlinuz-$release" "$tmp/image"
	mv "$tmp/x/boot/config-$release" "$tmp/config"
	mv "$tmp/x/lib" "$tmp/lib"
	rm -rf "$tmp/x"
	# Plain files load several times faster than compressed ones on an
	# emulated processor, and depmod reads them ten times as fast.
	uncompress_image "$tmp/image" "$tmp/vmlinux"
	find "$tmp/lib" -name '*.ko.xz' -print0 | xargs -0 -r -n 500 xz -d
	depmod -b "$tmp" "$release"
	echo "$release" >"$tmp/release"
	chmod 755 "$tmp"
	mv -T "$tmp" "$dir"
}

fill_packaged()
{
	local name=$1 release version deb dir

	read -r release version < <(kernel_package "$name") ||
		die "no headers for $name: run selftests/install-packages"
	dir=$cache/kernel/${release}_${version//[^A-Za-z0-9.+~-]/_}
	if [ ! -e "$dir/release" ]; then
		say "fetching the $name kernel"
		mkdir -p "$cache/kernel"
		if ! deb=$(kernel_deb "$release" "$version" 2>/dev/null); then
			# Superseded in the archive: take the newest headers,
			# then the image that belongs to them.
			say "linux-image-$release $version is gone, updating"
			refresh_headers "$name"
			read -r release version < <(kernel_package "$name")
			dir=$cache/kernel/${release}_${version//[^A-Za-z0-9.+~-]/_}
			deb=$(kernel_deb "$release" "$version") ||
				die "cannot download linux-image-$release $version"
		fi
		[ -e "$dir/release" ] || unpack_kernel "$dir" "$release" "$deb"
	fi
	kernel_dir=$dir
}

refresh_headers()
{
	local sudo=()

	[ "$(id -u)" -eq 0 ] || sudo=(sudo -n)
	"${sudo[@]}" apt-get -q update >/dev/null </dev/null &&
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o DPkg::Lock::Timeout=900 install --no-install-recommends \
		"${header_meta[$1]}" >/dev/null </dev/null ||
		die "cannot update ${header_meta[$1]}"
}

# A kernel built from source: its modules are installed into the cache once
# per build of the tree.
fill_tree()
{
	local tree key release tmp
	tree=$(cd "$1" && pwd)

	[ -e "$tree/arch/x86/boot/bzImage" ] ||
		die "$tree: no arch/x86/boot/bzImage"
	release=$(cat "$tree/include/config/kernel.release") ||
		die "$tree: not a kernel build tree"
	key=$({ printf '%s\n' "$tree"
		stat -c '%Y %s' "$tree/arch/x86/boot/bzImage" \
			"$tree/modules.order"; } | sha256sum | cut -c 1-16)
	kernel_dir=$cache/kernel/${release}_tree-$key
	headers=$tree
	[ ! -e "$kernel_dir/release" ] || return 0
	mkdir -p "$cache/kernel"
	tmp=$(mktemp -d -p "$cache/kernel" --suffix=.tree)
	cp "$tree/arch/x86/boot/bzImage" "$tmp/image"
	uncompress_image "$tmp/image" "$tmp/vmlinux"
	cp "$tree/.config" "$tmp/config"
	make -s -C "$tree" INSTALL_MOD_PATH="$tmp" modules_install \
		>"$tmp/log" 2>&1 </dev/null || {
		cat "$tmp/log" >&2
		die "$tree: modules_install failed"
	}
	rm -f "$tmp/lib/modules/$release/"{build,source}
	depmod -b "$tmp" "$release"
	echo "$release" >"$tmp/release"
	chmod 755 "$tmp"
	mv -T "$tmp" "$kernel_dir"
}

# kernel_get NAME|TREE: bring the kernel into the cache. Sets kernel_dir,
# release and headers (what a module is built against).
kernel_get()
{
	headers=
	case $1 in
	6.1|6.12)
		fill=fill_packaged ;;
	debug)
		fill=fill_debug ;;
	*/*|.)
		[ -d "$1" ] || die "$1: no such kernel build tree"
		fill=fill_tree ;;
	*)
		die "unknown kernel '$1' (6.1, 6.12, debug, or a build tree)" ;;
	esac
	with_lock "kernel-${1//\//_}" "$fill" "$1"
	release=$(cat "$kernel_dir/release")
	[ -n "$headers" ] || headers=/lib/modules/$release/build
}

# What the guest needs before it has the root file system.
early_modules=(virtio_pci virtio_console 9p 9pnet_virtio overlay)

make_initramfs()
{
	local out=$1 tmp m n=0

	tmp=$(mktemp -d -p "$cache/kernel" --suffix=.initramfs)
	mkdir -p "$tmp/bin" "$tmp/modules"
	cp "$(command -v busybox)" "$tmp/bin/busybox"
	for m in "${early_modules[@]}"; do
		modprobe -C /dev/null -d "$kernel_dir" -S "$release" \
			--show-depends "$m"
	done | while read -r what file _; do
		[ "$what" = insmod ] || continue
		compgen -G "$tmp/modules/*-${file##*/}" >/dev/null && continue
		n=$((n + 1))
		cp "$file" "$tmp/modules/$(printf %02d $n)-${file##*/}"
	done
	(cd "$tmp" && find . -mindepth 1 -print0 |
	 cpio -0 --quiet -o -H newc -R 0:0) >"$out.tmp"
	rm -rf "$tmp"
	mv "$out.tmp" "$out"
}

# initramfs_get: sets initramfs, for kernel_dir and release.
initramfs_get()
{
	local busybox key
	busybox=$(command -v busybox) || die "no busybox"
	key=$({ declare -f make_initramfs; echo "${early_modules[@]}"
		stat -Lc '%s %Y' "$busybox"; } | sha256sum | cut -c 1-16)
	initramfs=$kernel_dir/initramfs-$key.cpio
	[ -e "$initramfs" ] ||
		with_lock "initramfs-$release" initramfs_fill
}

initramfs_fill()
{
	[ -e "$initramfs" ] || make_initramfs "$initramfs"
}

# source_get: sets source_dir, the parts of linux-source-6.12 that are used
# here: checkers and siw.
source_get()
{
	local version
	version=$(dpkg-query -W -f '${Version}' linux-source-6.12 2>/dev/null) ||
		die "linux-source-6.12 is not installed: run selftests/install-packages"
	source_dir=$cache/source/${version//[^A-Za-z0-9.+~-]/_}
	[ -e "$source_dir" ] || with_lock source source_fill
}

source_fill()
{
	local tmp

	[ ! -e "$source_dir" ] || return 0
	mkdir -p "$cache/source"
	tmp=$(mktemp -d -p "$cache/source")
	tar -C "$tmp" -xf /usr/src/linux-source-6.12.tar.xz \
		--strip-components=1 --wildcards \
		'linux-source-6.12/scripts/checkpatch.pl' \
		'linux-source-6.12/scripts/kernel-doc' \
		'linux-source-6.12/scripts/spelling.txt' \
		'linux-source-6.12/scripts/const_structs.checkpatch' \
		'linux-source-6.12/LICENSES' \
		'linux-source-6.12/drivers/infiniband/sw/siw'
	sed -i '/^acknowledgement||/d' "$tmp/scripts/spelling.txt"
	mv -T "$tmp" "$source_dir"
}

# fill_debug: build the debug kernel, which takes ten minutes once, and use
# it like any other build tree.
fill_debug()
{
	local version key tree tmp tar=/usr/src/linux-source-6.12.tar.xz

	"$vm_dir/../install-packages" "$vm_dir/../packages-debug.txt" >&2 ||
		exit 2
	version=$(dpkg-query -W -f '${Version}' linux-source-6.12) ||
		die "linux-source-6.12 is not installed"
	key=$({ echo "$version"; gcc -dumpfullversion
		cat "$vm_dir/debug.config"; } | sha256sum | cut -c 1-16)
	tree=$cache/build/debug-$key
	if [ ! -e "$tree" ]; then
		echo "run: building the debug kernel, about ten minutes" >&2
		tmp=$cache/build/tmp.debug-$key
		rm -rf "$tmp"
		mkdir -p "$tmp"
		tar -C "$tmp" -xf "$tar" --strip-components=1
		make -s -C "$tmp" "KCONFIG_ALLCONFIG=$vm_dir/debug.config" \
			allnoconfig >"$tmp/build.log" 2>&1 </dev/null &&
		make -s -C "$tmp" -j "$(nproc)" KCFLAGS=-Wno-error \
			bzImage modules >>"$tmp/build.log" 2>&1 </dev/null || {
			tail -n 30 "$tmp/build.log" >&2
			die "the debug kernel does not build"
		}
		# No module needs the objects to build against it.
		find "$tmp" -name '*.o' ! -path "$tmp/scripts/*" \
			! -path "$tmp/tools/*" -delete
		mv -T "$tmp" "$tree"
	fi
	fill_tree "$tree"
}

# siw_get: add siw to the kernel's modules; Debian's kernels have none, but
# their source does.
siw_get()
{
	siw=$kernel_dir/lib/modules/$release/kernel/drivers/infiniband/sw/siw
	[ -e "$siw" ] || with_lock "siw-$release" siw_fill
}

siw_fill()
{
	local tmp source

	[ ! -e "$siw" ] || return 0
	case $release in
	6.12.*)
		source_get
		source=$source_dir/drivers/infiniband/sw/siw ;;
	6.1.*)
		"$vm_dir/../install-packages" "$vm_dir/../packages-siw.txt" \
			>&2 || exit 2 ;;
	*)
		die "no siw for $release" ;;
	esac
	tmp=$(mktemp -d -p "$cache/kernel" --suffix=.siw)
	if [ -n "${source:-}" ]; then
		cp -r "$source" "$tmp/siw"
	else
		tar -C "$tmp" -xf /usr/src/linux-source-6.1.tar.xz \
			--strip-components=4 \
			linux-source-6.1/drivers/infiniband/sw/siw
	fi
	sed -i 's/$(CONFIG_RDMA_SIW)/m/' "$tmp/siw/Makefile"
	make -C "$headers" M="$tmp/siw" -j "$(nproc)" modules \
		>"$tmp/log" 2>&1 </dev/null || {
		tail -n 30 "$tmp/log" >&2
		die "siw does not build for $release"
	}
	mkdir "$tmp/ready"
	cp "$tmp/siw/siw.ko" "$tmp/ready"
	mv -T "$tmp/ready" "$siw"
	rm -rf "$tmp"
	depmod -b "$kernel_dir" "$release"
}
