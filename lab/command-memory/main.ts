import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { commandLine } from '../command-line.js';

/** `npm run command-memory`: a command that takes all memory, on a machine with cgroup v2. */
const about = `Boots a virtual machine (QEMU without KVM, Debian's kernel) with cgroup v2, runs \`lango serve\` there in a cgroup that
the kernel ends as a whole, as in a pod, and lets a command take more memory than there is: once where Lango may divide
its cgroup, and once where it may not. Exits with 1 unless only the command is ended in the first. Needs Debian, root,
and: apt-get install qemu-system-x86 debootstrap cpio busybox-static e2fsprogs`;
const options = commandLine('command-memory', about, {
  folder: { default: '/tmp/lango-command-memory', text: 'where the machine is made and kept' },
  seconds: { default: 600, text: 'the longest time that the machine runs' },
});

const PROGRAMS = ['qemu-system-x86_64', 'debootstrap', 'cpio', 'busybox', 'mke2fs', 'dpkg'];
const MODULES = [
  ...['virtio/virtio', 'virtio/virtio_ring', 'virtio/virtio_pci_modern_dev', 'virtio/virtio_pci_legacy_dev'],
  ...['virtio/virtio_pci', 'block/virtio_blk'],
];
const folder = resolve(options.folder);
const root = join(folder, 'root');
const initial = join(folder, 'initial');

function run(program: string, args: readonly string[], cwd = folder): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Returns the folder of Debian's kernel. */
async function readKernel(): Promise<string> {
  const kernel = join(folder, 'kernel');
  if (existsSync(kernel)) return kernel;
  const newest = 'linux-image-cloud-amd64';
  const image = /Depends: (\S+)/.exec(run('apt-cache', ['depends', newest]))![1]!;
  run('apt-get', ['download', image]);
  const [file] = (await readdir(folder)).filter((name) => name.startsWith(image) && name.endsWith('.deb'));
  run('dpkg', ['-x', file!, kernel]);
  return kernel;
}

const MAKE_INITIAL = 'find . | cpio -o -H newc 2>/dev/null | gzip > ../initial.gz';
/** The modules depend on each other, so all are tried again. */
const INIT = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc && mount -t devtmpfs none /dev
for round in 1 2 3; do for file in /modules/*.ko; do insmod $file 2>/dev/null; done; done
until [ -b /dev/vda ]; do sleep 0.2; done
mount -t ext4 /dev/vda /new && umount /proc && mount --move /dev /new/dev && exec switch_root /new /start.sh
`;
const START = `#!/bin/sh
mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /tmp; mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root
lango() { node /opt/lango/node_modules/lango/dist/cli/main.js "$@"; }
try() {
  pod=/sys/fs/cgroup/$1; home=/root/$1
  mkdir $pod $home; echo 700M > $pod/memory.max; echo 1 > $pod/memory.oom.group
  # A server that is not alone in its cgroup leaves it as it is.
  [ $1 = divided ] || sh -c "echo 0 > $pod/cgroup.procs; exec sleep 10000" &
  sleep 1
  sh -c "echo 0 > $pod/cgroup.procs; exec node /opt/lango/node_modules/lango/dist/cli/main.js serve --home $home" > /tmp/$1.log 2>&1 &
  server=$!
  until grep -q '^ready' /tmp/$1.log; do kill -0 $server || break; sleep 1; done
  lango send --home $home 'run \`head -c 900M /dev/zero | tail | wc -c\`' < /dev/null 2>&1 | cat
  if kill -0 $server 2>/dev/null; then echo "$1: the server is there"; else echo "$1: the server is gone"; fi
  kill $server 2>/dev/null
}
try divided; try whole
sync; echo o > /proc/sysrq-trigger; sleep 60
`;

async function makeMachine(): Promise<string> {
  const kernel = await readKernel();
  if (!existsSync(root))
    run('debootstrap', ['--variant=minbase', '--include=bubblewrap,iproute2', 'bookworm', root]);
  await rm(initial, { recursive: true, force: true });
  for (const name of ['bin', 'modules', 'proc', 'dev', 'new'])
    await mkdir(join(initial, name), { recursive: true });
  await copyFile(run('which', ['busybox']).trim(), join(initial, 'bin/busybox'));
  const [version] = await readdir(join(kernel, 'lib/modules'));
  const drivers = join(kernel, 'lib/modules', version!, 'kernel/drivers');
  for (const [index, name] of MODULES.entries())
    await copyFile(join(drivers, `${name}.ko`), join(initial, `modules/${index}.ko`));
  for (const [file, text] of [
    [join(initial, 'init'), INIT],
    [join(root, 'start.sh'), START],
  ] as const) {
    await writeFile(file, text);
    await chmod(file, 0o755);
  }
  run('sh', ['-c', MAKE_INITIAL], initial);
  await copyFile(process.execPath, join(root, 'usr/local/bin/node'));
  await chmod(join(root, 'usr/local/bin/node'), 0o755);
  const tarball = run('npm', ['pack', '--silent', '--pack-destination', folder], process.cwd()).trim();
  const to = join(root, 'opt/lango');
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', to, join(folder, tarball)], to);
  await rm(join(folder, 'disk.img'), { force: true });
  run('mke2fs', ['-q', '-d', root, '-t', 'ext4', 'disk.img', '3G']);
  return join(kernel, 'boot', `vmlinuz-${version}`);
}

const missing = PROGRAMS.filter((name) => spawnSync('which', [name]).status !== 0);
if (missing.length > 0 || process.getuid?.() !== 0) {
  console.error(
    `Not run: ${missing.length > 0 ? `${missing.join(', ')} is not installed` : 'only root can make the machine'}.`,
  );
  process.exit(1);
}
await mkdir(folder, { recursive: true });
const kernel = await makeMachine();
const output = join(folder, 'output.txt');
spawnSync(
  'qemu-system-x86_64',
  [
    ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '1500', '-net', 'none', '-no-reboot'],
    ...['-kernel', kernel, '-initrd', join(folder, 'initial.gz'), '-append', 'console=ttyS0 quiet panic=-1'],
    ...['-drive', `file=${join(folder, 'disk.img')},if=virtio,format=raw`],
    ...['-display', 'none', '-serial', `file:${output}`],
  ],
  { stdio: 'ignore', timeout: options.seconds * 1_000 },
);
const lines = (await readFile(output, 'utf8')).split(/\r?\n/);
const told = lines.filter((line) => /out of memory|no memory left|MiB|: the server is/i.test(line));
console.log(told.join('\n'));
const isRight =
  told.includes('divided: the server is there') && told.some((line) => line.includes('no memory left'));
console.log(isRight ? 'Only the command was ended.' : 'FAILED: the command was not ended alone.');
process.exit(isRight ? 0 : 1);
