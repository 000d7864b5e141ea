#!/bin/sh
# What `npm start` and `npm test` run: Node with the arguments given. It is no JavaScript, because it also speaks where the
# Node that npm finds is too old or does not run at all. It becomes Node, so that a SIGTERM reaches it.
found=$(node --version 2>/dev/null)
case $found in
  v2[6-9].* | v[3-9][0-9].*) NODE_COMPILE_CACHE=node_modules/.cache/compiled exec node "$@" ;;
esac
echo "error: Node 26 or newer is needed; here is ${found:-none that runs}." >&2
echo 'With glibc, npm ci brings one along. Elsewhere, as on Alpine Linux, install Node 26, then: rm -r node_modules/node-* node_modules/.bin/node' >&2
exit 3
