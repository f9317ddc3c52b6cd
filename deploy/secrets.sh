#!/bin/sh
# Makes the secrets of the stack that are not there yet: deploy/secrets.sh [FOLDER]. As root it gives them to the user
# of the containers, whose number is 1000.
set -eu
umask 077
folder=${1:-secrets}
mkdir -p "$folder"
for name in token vault-passphrase database-password metrics-token; do
  [ -s "$folder/$name" ] || openssl rand -hex 24 >"$folder/$name"
done
[ -s "$folder/database-url" ] ||
  echo "postgres://lango:$(cat "$folder/database-password")@database:5432/lango" >"$folder/database-url"
# Empty without a key for a model.
touch "$folder/anthropic-api-key"
[ "$(id -u)" != 0 ] || chown -R 1000:1000 "$folder"
