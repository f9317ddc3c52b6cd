import { percentDecoded } from '../core/text.js';

/** Names of parameters whose values are keys. */
const KEY_NAMES = /key|token|secret|pass|sig|auth|code|credential/i;
/** A value that is long and mixed like a key, whatever its name. */
const KEY_SHAPE = /^(?=.*\d)(?=.*[a-z])[\w.~+/=-]{20,}$/i;
const WEB = /^https?:\/\//i;
/** No other address has a query or a login. */
const HAS_VALUES = /[?@]/;
/** A proxy may be named without its scheme: `user:password@proxy:3128`. */
const LOGIN = /^[^\s/@:]+:[^\s/@]+@[^\s/@]+$/;
/** Shorter values would be found in ordinary text. */
const MIN_LENGTH = 6;

/** Returns the keys and passwords in all web addresses of the settings, as they stand there and decoded. */
export function addressSecrets(settings: unknown): readonly string[] {
  const found = textsIn(settings).flatMap((text) => {
    if (!HAS_VALUES.test(text)) return [];
    const url = WEB.test(text) ? URL.parse(text) : LOGIN.test(text) ? URL.parse(`http://${text}`) : null;
    if (!url) return [];
    const ofQuery = [...url.search.matchAll(/[?&]([^=&]*)=([^&]*)/g)]
      .filter(([, name, value]) => KEY_NAMES.test(name!) || KEY_SHAPE.test(value!))
      .map(([, , value]) => value!);
    return [...ofQuery, url.password].flatMap((value) => [value, percentDecoded(value)]);
  });
  return [...new Set(found)].filter(({ length }) => length >= MIN_LENGTH);
}

/** Replaces the values of queries, and user names and passwords, in all web addresses of a value, to show it. */
export function withoutAddressSecrets(value: unknown): unknown {
  if (typeof value === 'string') return shown(value);
  if (Array.isArray(value)) return value.map(withoutAddressSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutAddressSecrets(one)]));
}

function shown(text: string): string {
  if (!/^https?:\/\/\S+$/i.test(text)) return text;
  return text.replace(/\/\/[^/@?#]*@/, '//[hidden]@').replace(/([?&][^=&#]+=)[^&#]+/g, '$1[hidden]');
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
