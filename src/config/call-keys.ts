import { isGroup } from './layers.js';

/** The keys that tell a client where the server of this configuration is and how it is asked. */
const CALL_KEYS = [
  'server.host',
  'server.port',
  'server.tls.certFile',
  'auth.mode',
  'auth.token',
  'a2a.baseUrl',
  'a2a.catalogs',
] as const;

/** The values that a client needs. Values of the wrong shape on the way stay, so that the check reports them. */
export function callValues(values: unknown, prefix = ''): unknown {
  if (!isGroup(values)) return values;
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const key = `${prefix}${name}`;
      return concernsCall(key) ? [[name, callValues(value, `${key}.`)]] : [];
    }),
  );
}

/** Whether a key is one that a client needs, or a group with such a key. The empty key is the whole file. */
export function concernsCall(key: string): boolean {
  return key === '' || CALL_KEYS.some((one) => one === key || one.startsWith(`${key}.`));
}
