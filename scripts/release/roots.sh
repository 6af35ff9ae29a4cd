#!/bin/sh
# Makes the directories in which the tests run programs for other platforms, on Debian for x64, without being root:
#
#   sh scripts/release/roots.sh DIR            DIR/linux-arm64: Debian's libraries; qemu-user-static runs it
#   sh scripts/release/roots.sh DIR --musl     DIR/linux-x64-musl too: musl, and GNU's C++ library, which Debian has not for
#                                              musl, built from Debian's source of gcc: musl-tools, g++, make, a minute
set -eu
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
roots=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# What is mounted in a root when something runs there.
enter() { for place in dev home proc program tmp; do mkdir -p "$roots/$1/$place"; done; }

apt-get -q download libc6-arm64-cross
dpkg -x libc6-arm64-cross_*.deb arm64
rm -rf "$roots/linux-arm64"
mv arm64/usr/aarch64-linux-gnu "$roots/linux-arm64"
enter linux-arm64
[ "${2:-}" = --musl ] || exit 0

apt-get -q download gcc-12-source
dpkg -x gcc-12-source_*.deb .
tar -xf usr/src/gcc-12/gcc-12.*.tar.xz
source=$(echo "$work"/gcc-12.*/libstdc++-v3)
# What the compiler's own build would have made: the threads that the library is built for.
mkdir libgcc build
cp "$source/../libgcc/gthr-posix.h" libgcc/gthr-default.h
printf '#!/bin/sh\nREALGCC=g++ exec musl-gcc "$@"\n' >musl-g++
chmod +x musl-g++
cd build
"$source/configure" --build=x86_64-linux-gnu --host=x86_64-linux-musl --disable-multilib --disable-nls --disable-shared \
  --disable-libstdcxx-pch --disable-libstdcxx-filesystem-ts CC=musl-gcc CXX="$work/musl-g++" \
  CFLAGS='-O1 -fPIC' CXXFLAGS='-O1 -fPIC' >configure.log
make -j"$(nproc)" >make.log 2>&1
root=$roots/linux-x64-musl
mkdir -p "$root/lib" "$root/usr/lib"
musl-gcc -shared -s -Wl,-soname,libstdc++.so.6 -o "$root/usr/lib/libstdc++.so.6" \
  -Wl,--whole-archive src/.libs/libstdc++.a -Wl,--no-whole-archive -lgcc_eh
cp -L /lib/ld-musl-x86_64.so.1 "$root/lib/"
enter linux-x64-musl
