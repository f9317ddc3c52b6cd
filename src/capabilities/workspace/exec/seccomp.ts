import process from 'node:process';

/** The system calls that commands have no use for, by their numbers on x86-64 and arm64 (asm/unistd.h of Linux). */
export const DENIED_CALLS: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  // Kernel interfaces with a history of vulnerabilities.
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  // Kernel keyrings, which namespaces do not isolate.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  // Mounts and namespaces.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  setns: [308, 268],
  unshare: [272, 97],
  open_by_handle_at: [304, 265],
  // The machine itself.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  syslog: [103, 116],
};

interface Architecture {
  /** AUDIT_ARCH of linux/audit.h. */
  readonly audit: number;
  readonly column: 0 | 1;
  readonly clone: number;
  readonly clone3: number;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, column: 0, clone: 56, clone3: 435 },
  arm64: { audit: 0xc00000b7, column: 1, clone: 220, clone3: 435 },
};

/** Offsets in seccomp_data (linux/seccomp.h): the number, the architecture, the lower half of the first argument. */
const [NUMBER, ARCHITECTURE, FIRST_ARGUMENT] = [0, 4, 16];
/** Operations of classic BPF (linux/bpf_common.h). */
const [LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [ALLOW, KILL, ERROR] = [0x7fff0000, 0x80000000, 0x00050000];
const [EPERM, ENOSYS] = [1, 38];
/** Calls of the x32 interface, which have numbers of their own on x86-64. */
const X32 = 0x40000000;
/** Every flag of clone(2) that makes a namespace. */
const NEW_NAMESPACES = 0x7e020000;

type Instruction = readonly [operation: number, value: number, ifTrue?: number, ifFalse?: number];

/**
 * The seccomp filter of commands, as bubblewrap loads it: denied calls fail with EPERM, and calls of another architecture
 * end the process. clone3 fails as if it did not exist (ENOSYS), so that libraries use clone, whose flags a filter can
 * read. Returns undefined for a machine that the table does not list. Tests pass `denied` to leave out rules.
 */
export function seccompFilter(
  denied = Object.keys(DENIED_CALLS),
  machine: string = process.arch,
): Buffer | undefined {
  const architecture = ARCHITECTURES[machine];
  if (!architecture) return undefined;
  const { audit, column, clone, clone3 } = architecture;
  const deny: Instruction = [RETURN, ERROR | EPERM];
  const program: Instruction[] = [
    [LOAD, ARCHITECTURE],
    [IF_EQUAL, audit, 1, 0],
    [RETURN, KILL],
    [LOAD, NUMBER],
    [IF_AT_LEAST, X32, 0, 1],
    deny,
    [IF_EQUAL, clone3, 0, 1],
    [RETURN, ERROR | ENOSYS],
    ...denied.flatMap((name): Instruction[] => [[IF_EQUAL, DENIED_CALLS[name]![column], 0, 1], deny]),
    [IF_EQUAL, clone, 0, 3],
    [LOAD, FIRST_ARGUMENT],
    [IF_ANY_BIT, NEW_NAMESPACES, 0, 1],
    deny,
    [RETURN, ALLOW],
  ];
  return Buffer.concat(program.map(encode));
}

/** A sock_filter (linux/filter.h), in the byte order of both architectures. */
function encode([operation, value, ifTrue = 0, ifFalse = 0]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(operation, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
