import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { generationsIn } from '../../translate/generation.js';

/*
 * The fields of the draft of A2A 1.1, which the SDK's generated codec does not know: they are read from the bytes of a
 * request, and added to the bytes of a response.
 */

/** The number of `generation` in each message that has it. */
const OWN_FIELD = { task: 7, statusUpdate: 5, artifactUpdate: 7 } as const;
const TASKS = 1;

/**
 * Reads an int64 at a path of field numbers; undefined when it is not set. Throws for bytes that are no message: the SDK's
 * codec stops at an end-group tag, and reads none of the bytes after it.
 */
export function int64At(bytes: Uint8Array, [field, ...inner]: readonly number[]): string | undefined {
  const reader = new BinaryReader(bytes);
  let found: string | undefined;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number !== field || wireType !== (inner.length > 0 ? WireType.LengthDelimited : WireType.Varint))
      reader.skip(wireType, number);
    else found = inner.length > 0 ? (int64At(reader.bytes(), inner) ?? found) : String(reader.int64());
  }
  return found;
}

/** Adds the generations of a message to its bytes. */
export function bytesWithGenerations(bytes: Buffer, message: unknown): Buffer {
  const numbers = [...generationsIn(message)];
  if (numbers.every((one) => one === undefined)) return bytes;
  const { payload, tasks } = message as { payload?: { $case: keyof typeof OWN_FIELD }; tasks?: object };
  const own = OWN_FIELD[payload?.$case ?? 'task'];
  if (!payload && !tasks) return Buffer.concat([bytes, generationField(own, numbers[0])]);
  const reader = new BinaryReader(bytes);
  const writer = new BinaryWriter();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    writer.tag(number, wireType);
    if (payload || number === TASKS)
      writer.bytes(Buffer.concat([reader.bytes(), generationField(own, numbers.shift())]));
    else writer.raw(reader.skip(wireType, number));
  }
  return Buffer.from(writer.finish());
}

function generationField(field: number, generation: number | undefined): Uint8Array {
  if (generation === undefined) return new Uint8Array();
  return new BinaryWriter().tag(field, WireType.Varint).int64(generation).finish();
}
