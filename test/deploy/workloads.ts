import {
  secretItems,
  workloadsOf,
  type Container,
  type Manifest,
  type Volume,
  type Workload,
} from './kit.js';
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
  return {
    image: `${image}:0.1.0`,
    probes: PROBES,
    seccomp,
    volumes: [`/data <- ${kept}`, ...SCRATCH, ...extra].toSorted(),
  };
}

const secrets = (...keys: readonly string[]) =>
  `/run/secrets/lango <- Secret lango (${keys.join(', ')}), read only`;
const FRONT = secrets('database-url', 'keys.json', 'token', 'vault-passphrase');
const keysOf = (image: string) => ({
  image: `${image}:0.1.0`,
  probes: [],
  seccomp: 'RuntimeDefault',
  volumes: ['/data <- emptyDir', FRONT],
});
const withSandbox = (...extra: readonly string[]) => ({ ...SANDBOX, extra: [...SANDBOX.extra, ...extra] });

/** The settings of each container of a shape. */
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
  },
  stack: {
    'lango-chronicler/lango': node('lango', 'claim lango-chronicler'),
    'lango/keys': keysOf('lango'),
    'lango/lango': node('lango', 'emptyDir', { extra: [FRONT] }),
    'lango-librarian/lango': node('lango', 'claim lango-librarian'),
    'lango-navigator/lango': node('lango-full', 'claim lango-navigator', SANDBOX),
    'lango-operator/lango': node('lango', 'claim lango-operator', SANDBOX),
    'lango-planner/lango': node('lango', 'claim lango-planner'),
    'lango-vault/lango': node('lango-full', 'claim lango-vault', { extra: [secrets('vault-passphrase')] }),
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

function sourceOf(volume: Volume): string {
  const { configMap, persistentVolumeClaim, emptyDir } = volume;
  if (configMap) return `ConfigMap ${configMap.name}`;
  if (persistentVolumeClaim) return `claim ${persistentVolumeClaim.claimName}`;
  if (emptyDir) return 'emptyDir';
  return `Secret lango (${secretItems(volume)
    .map(({ key }) => key)
    .join(', ')})`;
}
