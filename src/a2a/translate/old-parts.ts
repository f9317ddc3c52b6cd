import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';

/**
 * Translates the parts of 0.3, which has two dialects: its JSON schema (JSON-RPC, cards, webhooks) and its proto
 * (HTTP+JSON, gRPC). Invalid values stay as they are, for the checks of 1.0 to refuse.
 */
export interface PartDialect {
  from(part: Json): Json;
  to(part: JsonObject): JsonObject;
}

/** Data parts of 0.3 are objects; this mark, which the SDKs use too, tells that an object wraps another value. */
const WRAPPED = 'data_part_compat';

export const SCHEMA_PARTS: PartDialect = {
  from(part) {
    if (!isJsonObject(part)) return part;
    const { kind, text, file, data, metadata } = part;
    switch (kind) {
      case 'text':
        return { text, metadata };
      case 'file': {
        if (!isJsonObject(file)) return {};
        const { bytes, uri, mimeType, name } = file;
        return { raw: bytes, url: uri, mediaType: mimeType, filename: name, metadata };
      }
      case 'data':
        return isJsonObject(metadata) && metadata[WRAPPED] === true && isJsonObject(data)
          ? { data: data['value'], metadata: { ...metadata, [WRAPPED]: undefined } }
          : { data, metadata };
      default:
        return {};
    }
  },
  to(part) {
    const { text, raw, url, data, mediaType: mimeType, filename: name, metadata } = part;
    if (text !== undefined) return { kind: 'text', text, metadata };
    if (raw !== undefined) return { kind: 'file', file: { bytes: raw, mimeType, name }, metadata };
    if (url !== undefined) return { kind: 'file', file: { uri: url, mimeType, name }, metadata };
    if (isJsonObject(data)) return { kind: 'data', data, metadata };
    const marked = { ...(isJsonObject(metadata) ? metadata : {}), [WRAPPED]: true };
    return { kind: 'data', data: { value: data }, metadata: marked };
  },
};

export const PROTO_PARTS: PartDialect = {
  from(part) {
    if (!isJsonObject(part)) return part;
    const { text, file, data, metadata } = part;
    if (file !== undefined) {
      if (!isJsonObject(file)) return {};
      const { fileWithBytes, fileWithUri, mimeType, name } = file;
      return { raw: fileWithBytes, url: fileWithUri, mediaType: mimeType, filename: name, metadata };
    }
    if (data !== undefined) return { data: isJsonObject(data) ? (data['data'] ?? {}) : {}, metadata };
    return { text, metadata };
  },
  to({ text, raw, url, data, mediaType: mimeType }) {
    if (text !== undefined) return { text };
    if (raw !== undefined) return { file: { fileWithBytes: raw, mimeType } };
    if (url !== undefined) return { file: { fileWithUri: url, mimeType } };
    return { data: { data: isJsonObject(data) ? data : { value: data } } };
  },
};
