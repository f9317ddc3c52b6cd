import type { PeerEvent } from '../../core/agent.js';
import type { Artifact, Message, Part } from '../../core/message.js';
import { authorIn, type AuthorMark } from '../translate/extensions.js';
import type { TaskUpdate } from '../translate/updates.js';

export type PeerEventOf<Type extends PeerEvent['type']> = Extract<PeerEvent, { readonly type: Type }>;

/** An artifact of a peer as far as its events have been read. */
export class SeenArtifact {
  readonly #id: string;
  text = '';
  files: readonly Part[] = [];
  author = '';

  constructor(id: string) {
    this.#id = id;
  }

  addText(text: string, replace: boolean): PeerEventOf<'text-delta'> {
    this.text = replace ? text : this.text + text;
    return { type: 'text-delta', author: this.author, artifactId: this.#id, text, replace };
  }

  /** Returns an event with all files and data of the artifact, the earlier ones included. */
  addFiles(files: readonly Part[], artifact: Artifact): PeerEventOf<'artifact'> {
    this.files = [...this.files, ...files];
    return { type: 'artifact', author: this.author, artifact: { ...artifact, parts: this.files } };
  }
}

export function toArtifact({ id, parts, metadata }: Message): Artifact {
  return { id, parts, ...(metadata && { metadata }) };
}

/** Reads text that comes once more with its entry: only that is counted, and kept. */
export function liveText(
  update: TaskUpdate,
  authorOf: (mark: AuthorMark | undefined) => string,
): readonly PeerEvent[] {
  if (update.type === 'artifact') {
    const { artifact, append } = update;
    const { text } = splitParts(artifact.parts);
    const author = authorOf(authorIn(artifact.metadata));
    return [{ type: 'text-delta', author, artifactId: artifact.id, text, replace: !append, isLive: true }];
  }
  const mark = update.type === 'status' ? update.mark : undefined;
  const { activity } = mark ?? {};
  return activity ? [{ type: 'activity', author: authorOf(mark), activity, isLive: true }] : [];
}

/** Separates running text, whose chunks are joined, from files and data. */
export function splitParts(parts: readonly Part[]): {
  readonly text: string;
  readonly files: readonly Part[];
} {
  const isText = (part: Part): boolean => part.kind === 'text' && part.filename === undefined;
  const text = parts.map((part) => (isText(part) && part.kind === 'text' ? part.text : '')).join('');
  return { text, files: parts.filter((part) => !isText(part)) };
}

export function sizeOf(files: readonly Part[]): number {
  return files.length === 0 ? 0 : JSON.stringify(files).length;
}
