#!/bin/sh
# Installs self-generation for this user: takes the archive for this machine, verifies it with checksums.txt, unpacks it in a
# private directory and runs "self-generation install". No sudo, and nothing outside of HOME.
#
#   sh install.sh                                  download the newest release
#   sh install.sh --from DIR                       from a folder with checksums.txt and the archives: no network
#   sh install.sh --from DIR/self-generation-0.2.0-linux-x64.tar.xz
#   sh install.sh --version 0.2.0                  this version
#   sh install.sh --base-url https://HOST/FOLDER   from a server's folder with checksums.txt and the archives
#   sh install.sh --no-hooks                       the program alone; all clients stay as they are
#   sh install.sh -- --dry-run                     what stands behind "--" goes to "self-generation install"
#
# Exit codes: 0 installed, 1 failed, 2 wrong usage; otherwise that of "self-generation install".
set -eu
umask 077

# https://…/releases, by the repository in package.json; empty as long as it names none.
RELEASES=''
SPACE_KB=409600

say() {
  printf '%s\n' "$*"
}

fail() {
  printf 'error: Cannot install self-generation: %s\n' "$*" >&2
  exit 1
}

wrong_usage() {
  printf 'error: %s\nWhat it takes: sh install.sh --help\n' "$*" >&2
  exit 2
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# A program for musl runs with musl alone. Some systems have its loader beside glibc's, so ldd is asked first.
is_musl() {
  case $(ldd --version 2>&1 || true) in
    *musl*) return 0 ;;
    *GLIBC* | *GNU*) return 1 ;;
  esac
  for loader in /lib/ld-musl-*; do
    [ -e "$loader" ] && return 0
  done
  return 1
}

# Prints what the archive for this machine is called.
target_here() {
  system=$(uname -s)
  machine=$(uname -m)
  case $machine in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "there is no program for the processor \"$machine\", only for x86_64 and arm64." ;;
  esac
  case $system in
    Linux)
      [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] || fail "this system has 32 bits; the program needs 64."
      if is_musl; then
        say "linux-$cpu-musl"
      elif [ "$cpu" = x64 ] && ! grep -qw avx2 /proc/cpuinfo; then
        say linux-x64-baseline
      else
        say "linux-$cpu"
      fi
      ;;
    Darwin)
      # Rosetta lets a shell believe that it has an Intel processor.
      [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" != 1 ] || cpu=arm64
      say "darwin-$cpu"
      ;;
    MINGW* | MSYS* | CYGWIN*) fail "on Windows it is installed by install.ps1, in PowerShell." ;;
    *) fail "there is no program for \"$system\", only for Linux, macOS and Windows." ;;
  esac
}

# get NAME: puts a file of the release into the private directory.
get() {
  if [ -n "$folder" ]; then
    [ -f "$folder/$1" ] || fail "there is no \"$1\" in \"$folder\". Take the folder of a release, with all that is in it."
    cp "$folder/$1" "$work/$1" || fail "\"$folder/$1\" cannot be read, or there is no space for it in \"$HOME\"."
    return
  fi
  if has curl; then
    curl --proto "=$protocols" --proto-redir "=$protocols" -fsSL --retry 2 -o "$work/$1" "$url/$1" ||
      fail "\"$url/$1\" cannot be loaded."
  elif has wget; then
    wget -q -O "$work/$1" "$url/$1" || fail "\"$url/$1\" cannot be loaded."
  else
    fail "there is neither curl nor wget. Install one of them, or load the release elsewhere and give its folder: --from DIR."
  fi
}

# Prints the SHA-256 of a file. It is read from the input, since sha256sum marks its line where the name is an odd one.
sha256_of() {
  if has sha256sum; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  elif has openssl; then
    openssl dgst -sha256 <"$1" | sed 's/.* //'
  else
    fail "nothing here computes SHA-256: there is no sha256sum, shasum or openssl."
  fi
}

# Prints the versions in checksums.txt for this machine, the newest last; those before a release only by --version.
versions() {
  sed -n "s/^[0-9a-f]\{64\} [ *]self-generation-\([0-9][0-9.]*\)-$target\.tar\.xz\$/\1/p" "$work/lines" |
    sort -t . -k 1,1n -k 2,2n -k 3,3n
}

unpack() {
  mkdir "$work/unpacked"
  if has xz || ! tar --version 2>/dev/null | grep -q GNU; then
    tar -xJf "$1" -C "$work/unpacked" || fail "\"$archive\" cannot be unpacked. Is there enough space in \"$HOME\"?"
  else
    fail "there is no xz, which tar needs. Install it (Debian: xz-utils, others: xz)."
  fi
}

why_not() {
  case $target in
    *-musl) say "with musl it needs libstdc++ and libgcc (Alpine: apk add libstdc++ libgcc)." ;;
    darwin-*) say "if macOS stopped it, allow it in System Settings, Privacy & Security." ;;
    *) say "is \"$HOME\" mounted without the right to run programs (noexec)?" ;;
  esac
}

main() {
  folder='' archive='' version='' url='' hooks=yes work=''
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --version | --base-url)
        [ $# -ge 2 ] || wrong_usage "$1 needs a value."
        case $1 in
          --from) folder=$2 ;;
          --version) version=$2 ;;
          --base-url) url=${2%/} ;;
        esac
        shift 2
        ;;
      --no-hooks) hooks=no && shift ;;
      -h | --help)
        # Not where it is piped into a shell.
        sed -n '2,14s/^# \{0,1\}//p' "$0" 2>/dev/null || say "The first lines of install.sh say what it takes."
        exit
        ;;
      --) shift && break ;;
      *) wrong_usage "\"$1\" is not known here. What is for \"self-generation install\" stands behind \"--\"." ;;
    esac
  done
  case ${HOME:-} in
    /*) ;;
    *) fail "HOME is not set to an absolute path." ;;
  esac
  if [ "$(id -u)" = 0 ] && [ "${SUDO_UID:-0}" != 0 ] && [ -n "$(find "$HOME/." -prune -user "$SUDO_UID")" ]; then
    fail "sudo would put root's files into \"$HOME\". Run it without sudo."
  fi
  if [ -f "$folder" ]; then
    archive=${folder##*/}
    case $folder in
      */*) folder=${folder%/*}/ ;;
      *) folder=. ;;
    esac
  fi
  if [ -n "$folder" ]; then
    [ -d "$folder" ] || fail "there is no folder or archive \"$folder\"."
  elif [ -z "$url" ]; then
    [ -n "$RELEASES" ] ||
      fail "this script does not know where releases are published. Give a folder or a server's folder: --from DIR, --base-url URL."
    url=$RELEASES/latest/download
    [ -z "$version" ] || url=$RELEASES/download/v$version
  fi
  protocols=https
  case $url in
    '' | https://*) ;;
    *@*) fail "\"$url\" has a name or a password in it." ;;
    http://127.0.0.1[:/]* | http://localhost[:/]*) protocols=http ;;
    *) fail "\"$url\" is not https, so that anybody on the way could change it." ;;
  esac
  target=$(target_here)

  trap '[ -z "$work" ] || rm -rf "$work"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  free=$(df -Pk "$HOME" 2>/dev/null | awk 'NR == 2 { print $4 }')
  [ "${free:-$SPACE_KB}" -ge "$SPACE_KB" ] ||
    fail "there is not enough space in \"$HOME\": $((free / 1024)) MB free, $((SPACE_KB / 1024)) MB needed."
  # What one that was killed a day ago has left.
  find "$HOME/." -maxdepth 1 -type d -name '.self-generation-install.*' -mtime +0 -exec rm -rf {} + 2>/dev/null || true
  work=$(mktemp -d "$HOME/.self-generation-install.XXXXXX") || fail "\"$HOME\" cannot be written."

  get checksums.txt
  # A server or an editor may have made Windows' line ends of them.
  tr -d '\r' <"$work/checksums.txt" >"$work/lines"
  if [ -z "$archive" ]; then
    [ -n "$version" ] || version=$(versions | tail -n 1)
    [ -n "$version" ] || fail "checksums.txt names no archive for $target."
    archive=self-generation-$version-$target.tar.xz
  fi
  expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$work/lines" | sort -u)
  case $expected in
    '') fail "checksums.txt does not name \"$archive\"." ;;
    *[!0-9a-f]*) fail "checksums.txt has several SHA-256 for \"$archive\", or what is none. Get the release again." ;;
  esac
  say "Taking $archive"
  get "$archive"
  found=$(sha256_of "$work/$archive")
  [ "$found" = "$expected" ] ||
    fail "the SHA-256 of \"$archive\" is $found, and checksums.txt says $expected. Get it again; if it stays so, do not use it."
  unpack "$work/$archive"
  for program in "$work/unpacked/self-generation" "$work/unpacked"/*/self-generation; do
    [ ! -f "$program" ] || break
  done
  [ -f "$program" ] || fail "\"$archive\" has no program in it."
  chmod 700 "$program"
  # A file that a browser has loaded may not be run; this one has been verified.
  ! has xattr || xattr -d com.apple.quarantine "$program" 2>/dev/null || true
  "$program" --version >/dev/null || fail "the program of \"$archive\" does not run here: $(why_not)"
  [ "$hooks" = yes ] || set -- --no-claude --no-codex --no-gemini --no-opencode "$@"
  status=0
  # Where this script comes by a pipe, who sits at the terminal can be asked all the same.
  if [ ! -t 0 ] && [ -t 1 ] && (: </dev/tty) 2>/dev/null; then
    "$program" install "$@" </dev/tty || status=$?
  else
    "$program" install "$@" || status=$?
  fi
  exit "$status"
}

main "$@"
