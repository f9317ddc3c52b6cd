import { LangoError } from '../../core/errors.js';
import { VersionNotSupported } from '../translate/errors.js';
import { EXTENSIONS, GENERATION } from '../../core/extensions.js';

/*
 * The service parameters of a call (A2A 1.0 section 3.2.6), which are HTTP headers or gRPC metadata.
 */

export const VERSION_PARAMETER = 'a2a-version';
/** The name in 1.0, and the name in 0.3. */
export const EXTENSIONS_PARAMETERS = ['a2a-extensions', 'x-a2a-extensions'] as const;
export const CURSOR_PARAMETER = 'last-event-id';

/** The protocol versions (Major.Minor) of our interfaces. */
export type ProtocolVersion = '1.0' | '0.3';

const VERSION = /^(\d{1,6})(?:\.(\d{1,6}))?(?:\.\d{1,6})*$/;
const CURSOR = /^\d{1,15}$/;
const KNOWN_EXTENSIONS: readonly string[] = [...Object.values(EXTENSIONS), GENERATION];

/** The version that a client named, without patch digits (section 3.6), or undefined. Throws `version-not-supported`. */
export function versionIn(named: string, supported: readonly ProtocolVersion[]): ProtocolVersion | undefined {
  const text = named.trim();
  if (text === '') return undefined;
  const [, major, minor = '0'] = VERSION.exec(text) ?? [];
  const version = supported.find((one) => major !== undefined && one === `${Number(major)}.${Number(minor)}`);
  if (version) return version;
  throw new VersionNotSupported(supported);
}

/** The `seq` of the last event that a client saw; undefined without one. Throws `invalid-input`. */
export function cursorIn(text: string): number | undefined {
  if (text === '') return undefined;
  if (CURSOR.test(text)) return Number(text);
  throw new LangoError('invalid-input', 'Last-Event-ID must be the number of an event.', {
    hint: 'Send the id of the last event that you received of this task.',
  });
}

const NONE: ReadonlySet<string> = new Set();

/** The extensions that a client asked for, in the order of the headers. */
export function extensionsIn(...named: readonly string[]): ReadonlySet<string> {
  if (named.every((text) => text === '')) return NONE;
  const extensions = new Set<string>();
  for (const uri of named.flatMap((text) => (text === '' ? [] : text.split(',')))) extensions.add(uri.trim());
  extensions.delete('');
  return extensions;
}

/** The extensions in use, as the response's header names them: those that the client named and we know. Empty for none. */
export function activatedExtensions(named: string): string {
  return named === ''
    ? ''
    : [...extensionsIn(named)].filter((uri) => KNOWN_EXTENSIONS.includes(uri)).join(', ');
}
