#!/bin/sh
# Stands in for sudo where there is none: everybody on this emulated VM may do everything.
export SUDO_USER="${SUDO_USER:-$USER}"
while [ $# -gt 0 ]; do
  case $1 in
    -u | -g | -C | -p | -r | -t | -h) shift 2 ;;
    --) shift; break ;;
    -i | -s) shift; [ $# -gt 0 ] || exec bash ;;
    -v | -k | -K) exit 0 ;;
    -*) shift ;;
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
exec "$@"
