import type { Json, JsonObject } from '../../../core/json.js';
import { isJsonObject } from '../../../core/json.js';

/** A push config of 0.3, which lists schemes where 1.0 has one. */
export function fromPushConfig(config: Json | undefined): JsonObject {
  if (!isJsonObject(config)) return {};
  const { id, url, token, authentication } = config;
  if (!isJsonObject(authentication)) return { id, url, token };
  const { schemes, credentials } = authentication;
  const scheme = Array.isArray(schemes) ? (schemes as readonly Json[])[0] : undefined;
  return { id, url, token, authentication: { scheme, credentials } };
}

export function toPushConfig({ id, url, token, authentication }: JsonObject): JsonObject {
  if (!isJsonObject(authentication)) return { id, url, token };
  const { scheme, credentials } = authentication;
  return { id, url, token, authentication: { schemes: scheme === undefined ? [] : [scheme], credentials } };
}
