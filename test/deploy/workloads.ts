import { workloadsOf, type Container, type Manifest, type Volume, type Workload } from './kit.js';
import { containersOf } from './references.js';

const PROBES = ['startup /healthz', 'liveness /healthz', 'readiness /readyz'];
const CONFIGURATION = '/etc/lango <- ConfigMap lango, read only';
const SCRATCH = ['/tmp <- emptyDir', CONFIGURATION];
const SANDBOX = { seccomp: 'Unconfined', extra: ['/dev/shm <- emptyDir'] };

/** The parts that all nodes have in common: `kept` is the volume of the data folder. */
function node(
  image: string,
  kept: string,
  { seccomp = 'RuntimeDefault', extra = [] as readonly string[] } = {},
) {
  return { image, probes: PROBES, seccomp, volumes: [`/data <- ${kept}`, ...SCRATCH, ...extra].toSorted() };
}

const secrets = (...keys: readonly string[]) =>
  `/run/secrets/lango <- Secret lango (${keys.join(', ')}), read only`;
const FRONT = secrets('token', 'database-url', 'vault-passphrase', 'keys.json');
const keysOf = (image: string) => ({
  image,
  probes: [],
  seccomp: 'RuntimeDefault',
  volumes: ['/data <- emptyDir', FRONT],
});
const migration = {
  image: 'lango',
  probes: [],
  seccomp: 'RuntimeDefault',
  volumes: ['/data <- emptyDir', ...SCRATCH, secrets('database-url')].toSorted(),
};
const withSandbox = (...extra: readonly string[]) => ({ ...SANDBOX, extra: [...SANDBOX.extra, ...extra] });

/** The settings of each container of an overlay, once all components and patches have run. */
export const CONTAINERS = {
  single: {
    'lango/lango': node('lango-full', 'claim lango', withSandbox(secrets('token', 'vault-passphrase'))),
  },
  replicas: {
    'lango/keys': keysOf('lango-full'),
    'lango/lango': node(
      'lango-full',
      'emptyDir',
      withSandbox(
        FRONT,
        '/data/owners <- claim lango-files: owners',
        '/data/workspace <- claim lango-files: workspace',
      ),
    ),
    'lango-migration/lango': migration,
  },
  stack: {
    'chronicler/lango': node('lango', 'claim chronicler'),
    'lango/keys': keysOf('lango'),
    'lango/lango': node('lango', 'emptyDir', { extra: [FRONT] }),
    'lango-migration/lango': migration,
    'librarian/lango': node('lango', 'claim librarian'),
    'navigator/lango': node('lango-full', 'claim navigator', SANDBOX),
    'operator/lango': node('lango', 'claim operator', SANDBOX),
    'planner/lango': node('lango', 'claim planner'),
    'vault/lango': node('lango-full', 'claim vault', { extra: [secrets('vault-passphrase')] }),
  },
} as const;

/** The containers of built manifests, in the form of `CONTAINERS`. */
export function containersIn(manifests: readonly Manifest[]) {
  const found = workloadsOf(manifests).flatMap((workload) =>
    containersOf(workload.pod).map(
      (container) => [`${workload.name}/${container.name}`, shown(workload, container)] as const,
    ),
  );
  return Object.fromEntries(found);
}

function shown({ pod }: Workload, container: Container) {
  const { startupProbe, livenessProbe, readinessProbe, securityContext, volumeMounts = [] } = container;
  const probes = Object.entries({
    startup: startupProbe,
    liveness: livenessProbe,
    readiness: readinessProbe,
  });
  const volumes = volumeMounts.map(({ name, mountPath, subPath, readOnly }) => {
    const source = sourceOf(pod.volumes.find((one) => one.name === name)!);
    return `${mountPath} <- ${source}${subPath ? `: ${subPath}` : ''}${readOnly ? ', read only' : ''}`;
  });
  return {
    image: container.image,
    probes: probes.flatMap(([kind, probe]) => (probe ? [`${kind} ${probe.httpGet.path}`] : [])),
    seccomp: (securityContext?.seccompProfile ?? pod.securityContext?.seccompProfile)?.type,
    volumes: volumes.toSorted(),
  };
}

function sourceOf({ configMap, secret, persistentVolumeClaim, emptyDir }: Volume): string {
  if (configMap) return `ConfigMap ${configMap.name.replace(/-[a-z0-9]{10}$/, '')}`;
  if (persistentVolumeClaim) return `claim ${persistentVolumeClaim.claimName}`;
  if (emptyDir) return 'emptyDir';
  return `Secret ${secret?.secretName} (${(secret?.items ?? []).map(({ key }) => key).join(', ')})`;
}
