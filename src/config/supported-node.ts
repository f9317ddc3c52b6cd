import { isAtLeast } from '../core/text.js';

/** Older versions lack APIs that the program uses, and crash in its native modules. */
export const OLDEST_NODE = '22.19';

export function isSupportedNode(version: string): boolean {
  return isAtLeast(version, OLDEST_NODE);
}

/** Says what to do about the Node that this runs on, without a full stop; undefined on a supported one. */
export function oldNodeText(): string | undefined {
  const version = process.versions.node;
  if (isSupportedNode(version)) return undefined;
  return `Lango needs Node ${OLDEST_NODE} or newer; this is ${version}. Install a newer one from https://nodejs.org`;
}
