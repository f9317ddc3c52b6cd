import type { Metadata } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';

/** What a client says under a name; empty for nothing. */
export function textIn(metadata: Metadata, name: string): string {
  return metadata
    .get(name)
    .map((value) => value.toString())
    .join(',')
    .trim();
}

/** Throws `too-large` for more metadata than there may be headers over HTTP. */
export function assertMetadataSize(metadata: Metadata, maxBytes: number): void {
  let size = 0;
  for (const [name, values] of Object.entries(metadata.toHttp2Headers())) {
    for (const value of [values].flat()) size += name.length + String(value).length;
  }
  if (size > maxBytes) throw new LangoError('too-large', `The metadata is larger than ${maxBytes} bytes.`);
}
