#!/bin/sh
# What a container starts, by the words that images of Apache RocketMQ take: `nameserver`, `broker`, `sh mqnamesrv -c FILE`;
# without words by NODE_ROLE. JAVA_OPT and its kin have no effect.
set -eu
[ "${1:-}" != sh ] || shift
role=${1:-${NODE_ROLE:-nameserver}}
case $role in
  -*) role=nameserver ;;
  *) [ $# -eq 0 ] || shift ;;
esac
case $(basename -- "$role") in
  nameserver | namesrv | mqnamesrv) exec cosmodrome namesrv "$@" ;;
  broker | mqbroker) exec cosmodrome broker "$@" ;;
  mqadmin) exec cosmodrome admin "$@" ;;
  mqshutdown) exec cosmodrome stop "$@" ;;
  cosmodrome) exec cosmodrome "$@" ;;
  *)
    echo "error[NS-USAGE]: $role is no role." >&2
    echo "  do:  nameserver, broker, mqadmin WORDS, or cosmodrome WORDS" >&2
    exit 2
    ;;
esac
