#!/bin/sh
# Upgrades a Helm release if its pods fit into the cluster that kubectl names; fails before the upgrade if not:
#
#     examples/gitops/upgrade.sh web ./chart --namespace shop --values production.yaml
#
# KSCHED_OPTIONS are ksched's, such as "--state cluster.json" in place of the live cluster.
set -eu
release=$1 chart=$2
shift 2
# shellcheck disable=SC2086  # several options
helm template "$release" "$chart" "$@" | ksched capacity -f - ${KSCHED_OPTIONS:---live}
helm upgrade --install "$release" "$chart" "$@"
