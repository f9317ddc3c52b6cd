import { setTimeout as sleep } from 'node:timers/promises';
import type { Release } from './cluster.js';

/** A second PostgreSQL for a release with the trial database: it has every commit before the client hears of it. */

const NAME = 'database-standby';
/** Clones the primary, follows it, and is not ready, so that the Service does not lead to it, until it is promoted. */
const FOLLOW = `[ -d "$PGDATA" ] || PGPASSWORD="$(cat "$POSTGRES_PASSWORD_FILE")" pg_basebackup --host database --username lango \
  --pgdata "$PGDATA" --write-recovery-conf --wal-method stream
exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp`;
const IS_PRIMARY = `[ "$(psql --no-align --tuples-only --dbname postgres --command 'SELECT pg_is_in_recovery()')" = f ]`;

interface Container {
  readonly readinessProbe: object;
}

export async function addStandby(release: Release): Promise<void> {
  const [primary] = await release.pods('database');
  const sql = async (text: string) =>
    release.kubectl(
      'exec',
      primary!.name,
      '--',
      'psql',
      '--dbname',
      'postgres',
      '--tuples-only',
      '--command',
      text,
    );
  const allow = `echo 'host replication lango all scram-sha-256' >> "$PGDATA/pg_hba.conf"`;
  await release.kubectl('exec', primary!.name, '--', 'sh', '-c', allow);
  await sql('ALTER ROLE lango REPLICATION');
  await sql('SELECT pg_reload_conf()');
  // The same pod as that of the Deployment, with another beginning and a volume that is gone with it.
  const { metadata, spec } = JSON.parse(
    await release.kubectl('get', 'pod', primary!.name, '--output', 'json'),
  ) as {
    readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly namespace: string };
    readonly spec: {
      readonly containers: readonly Container[];
      readonly volumes: readonly { readonly name: string }[];
    };
  };
  const { 'pod-template-hash': _, ...labels } = metadata.labels;
  const [container] = spec.containers;
  await release.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NAME, namespace: metadata.namespace, labels },
    spec: {
      ...{ ...spec, nodeName: undefined },
      containers: [
        {
          ...container,
          command: ['sh', '-c', FOLLOW],
          readinessProbe: { ...container!.readinessProbe, exec: { command: ['sh', '-c', IS_PRIMARY] } },
        },
      ],
      volumes: spec.volumes.map((volume) =>
        volume.name === 'data' ? { name: 'data', emptyDir: {} } : volume,
      ),
    },
  });
  while (!/streaming/.test(await sql('SELECT state FROM pg_stat_replication'))) await sleep(1_000);
  // Only now: without a standby, no commit would end.
  await sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await sql('SELECT pg_reload_conf()');
  while (!/^ sync$/m.test(await sql('SELECT sync_state FROM pg_stat_replication'))) await sleep(500);
}

/** Ends the primary for good, and lets the standby take over. */
export async function promote(release: Release): Promise<void> {
  const [primary] = (await release.pods('database')).filter(({ name }) => name !== NAME);
  await release.kubectl('scale', 'deployment/database', '--replicas=0');
  await release.kubectl('delete', 'pod', primary!.name, '--force', '--grace-period=0', '--ignore-not-found');
  await release.kubectl(
    'exec',
    NAME,
    '--',
    'psql',
    '--dbname',
    'postgres',
    '--command',
    'SELECT pg_promote()',
  );
}
