#!/bin/sh
# check_abi.sh FOLDER   compares torcs_abi.h with TORCS' own headers: FOLDER is the unpacked source of TORCS 1.3.7
# (`apt-get source torcs`, 394 MB). Needs g++ and plib's headers (`apt-get install libplib-dev`).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
source=${1:?usage: check_abi.sh FOLDER, the unpacked source of TORCS 1.3.7}/src
if [ ! -f "$source/interfaces/car.h" ]; then
    echo "check_abi.sh: $1 is not the source of TORCS: it has no src/interfaces/car.h" >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$(cd "$source/libs/math" && pwd)" "$scratch/tmath" # as TORCS' own build names it
g++ -std=c++17 -fsyntax-only -Wno-invalid-offsetof -D_DEFAULT_SOURCE -I "$here" -I "$scratch" \
    -I "$source/interfaces" -I "$source/libs/tgf" -I "$source/linux" "$here/check_abi.cpp"
echo "torcs_abi.h agrees with the headers in $source"
