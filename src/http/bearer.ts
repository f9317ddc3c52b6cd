import { LangoError } from '../core/errors.js';

/** The token of `Authorization: Bearer TOKEN`; undefined for anything else. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}

/** Nobody can be known by this request; `reason` is told when a token was there (RFC 6750 section 3). */
export function noBearer(reason?: string): LangoError {
  const fault = reason === undefined ? '' : `, error="invalid_token", error_description="${reason}"`;
  return new LangoError('unauthenticated', 'A valid bearer token is required.', {
    hint: reason ?? 'Send it in the header "Authorization: Bearer TOKEN".',
    headers: { 'WWW-Authenticate': `Bearer realm="lango"${fault}` },
  });
}
