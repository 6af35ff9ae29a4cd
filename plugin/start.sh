#!/bin/sh
# Starts the installed program: for a hook, or as the MCP server. Without it the first hook of a session says how to get it.
[ $# -gt 0 ] || exit 0 # By a client that does not know how to hand on words.
case $SELF_GENERATION_HOME in
  /* | [A-Za-z]:[\\/]*) home=$SELF_GENERATION_HOME ;;
  *)
    home=${HOME:-$USERPROFILE}
    [ "$OS" != Windows_NT ] || home=${USERPROFILE:-$HOME}
    home=$home/.self-generation
    ;;
esac
for program in "$home/hooks/self-generation" "$home/hooks/self-generation.exe"; do
  if [ -f "$program" ] && [ -x "$program" ]; then exec "$program" "$@"; fi
done

missing='The self-generation plugin needs its program. Install it once, in a terminal: npx self-generation install'
case "$1 $2" in
  'hook session-analyzer') printf '{"systemMessage":"%s"}\n' "$missing" ;;
  hook*) ;;
  *)
    printf '%s\n' "$missing" >&2
    exit 1
    ;;
esac
