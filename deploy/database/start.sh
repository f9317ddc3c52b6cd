# Starts PostgreSQL. On an empty volume it first makes the cluster, with the database and the role `lango`; the role's
# password is in the file of POSTGRES_PASSWORD_FILE. The superuser `node` has no password, and connects in here alone.
set -eu
if [ ! -d "$PGDATA" ]; then
  rm -rf "$PGDATA.new"
  initdb --pgdata "$PGDATA.new" --auth-local peer --auth-host scram-sha-256 --encoding UTF8 --locale C.UTF-8 \
    --data-checksums
  echo 'host all all all scram-sha-256' >>"$PGDATA.new/pg_hba.conf"
  postgres --single -D "$PGDATA.new" postgres <<SQL
CREATE ROLE lango LOGIN PASSWORD '$(cat "$POSTGRES_PASSWORD_FILE")'
CREATE DATABASE lango OWNER lango
SQL
  mv "$PGDATA.new" "$PGDATA"
fi
exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp
