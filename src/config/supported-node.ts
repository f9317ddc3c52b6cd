import { isAtLeast } from '../core/text.js';

/** Older versions lack APIs that the program uses, and crash in its native modules. */
export const OLDEST_NODE = '22.21 or 24.5';

/** Versions before 22.21, and 23 to 24.4, send nothing through a proxy. */
export function isSupportedNode(version: string): boolean {
  return isAtLeast(version, '24.5') || (isAtLeast(version, '22.21') && !isAtLeast(version, '23'));
}

/** Says what to do about the Node that this runs on, without a full stop; undefined on a supported one. */
export function oldNodeText(): string | undefined {
  const version = process.versions.node;
  if (isSupportedNode(version)) return undefined;
  return `Lango needs Node ${OLDEST_NODE}, or newer; this is ${version}. Install a newer one from https://nodejs.org`;
}
