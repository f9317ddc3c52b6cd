import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Words of one line are the same token to the model; all other words are one unknown token. */
const MEANINGS = [
  '[UNK]',
  '[PAD]',
  'car automobile vehicle',
  'doctor physician',
  'deploy release',
  'coffee espresso',
];
const OPSET = 13;
const IR_VERSION = 8;
const FLOAT = 1;
const INT64 = 7;

/**
 * Writes a minimal model in ONNX form that runs: a table with a row for each meaning, and one Gather that looks words
 * up in it. The library applies mean pooling over the words, as with every model.
 */
export async function writeTinyModel(folder: string): Promise<void> {
  const vocabulary = Object.fromEntries(
    MEANINGS.flatMap((line, meaning) => line.split(' ').map((word) => [word, meaning])),
  );
  const special = ['[UNK]', '[PAD]'].map((content, id) => ({
    ...{ id, content, special: true },
    ...{ single_word: false, lstrip: false, rstrip: false, normalized: false },
  }));
  const tokenizer = {
    version: '1.0',
    ...{ truncation: null, padding: null, post_processor: null, decoder: null },
    added_tokens: special,
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Whitespace' },
    model: { type: 'WordLevel', vocab: vocabulary, unk_token: '[UNK]' },
  };
  const settings = { tokenizer_class: 'PreTrainedTokenizerFast', pad_token: '[PAD]', unk_token: '[UNK]' };
  await mkdir(path.join(folder, 'onnx'), { recursive: true });
  await Promise.all([
    writeFile(path.join(folder, 'config.json'), JSON.stringify({ model_type: 'bert' })),
    writeFile(path.join(folder, 'tokenizer.json'), JSON.stringify(tokenizer)),
    writeFile(
      path.join(folder, 'tokenizer_config.json'),
      JSON.stringify({ ...settings, model_max_length: 512 }),
    ),
    writeFile(path.join(folder, 'onnx', 'model.onnx'), modelBytes()),
  ]);
}

/** A `ModelProto` of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3, field by field. */
function modelBytes(): Buffer {
  const size = MEANINGS.length;
  const table = new Float32Array(size * size);
  MEANINGS.forEach((_, meaning) => (table[meaning * size + meaning] = meaning < 2 ? 0.1 : 1));
  const initializer = [
    number(1, size),
    number(1, size),
    number(2, FLOAT),
    bytes(8, 'table'),
    bytes(9, Buffer.from(table.buffer)),
  ];
  const node = [bytes(1, 'table'), bytes(1, 'input_ids'), bytes(2, 'last_hidden_state'), bytes(4, 'Gather')];
  const [batch, sequence, width] = [bytes(2, 'batch'), bytes(2, 'sequence'), number(1, size)];
  const graph = [
    message(1, node),
    bytes(2, 'tiny'),
    message(5, initializer),
    tensorNamed(11, { name: 'input_ids', type: INT64, shape: [batch, sequence] }),
    tensorNamed(11, { name: 'attention_mask', type: INT64, shape: [batch, sequence] }),
    tensorNamed(12, { name: 'last_hidden_state', type: FLOAT, shape: [batch, sequence, width] }),
  ];
  return Buffer.concat([
    number(1, IR_VERSION),
    message(7, graph),
    message(8, [bytes(1, ''), number(2, OPSET)]),
  ]);
}

interface TensorType {
  readonly name: string;
  readonly type: number;
  readonly shape: readonly Buffer[];
}

function tensorNamed(field: number, { name, type, shape }: TensorType): Buffer {
  const dimensions = message(
    2,
    shape.map((dimension) => message(1, [dimension])),
  );
  return message(field, [bytes(1, name), message(2, [message(1, [number(1, type), dimensions])])]);
}

function message(field: number, parts: readonly Buffer[]): Buffer {
  return bytes(field, Buffer.concat(parts));
}

function bytes(field: number, value: string | Buffer): Buffer {
  const content = Buffer.from(value);
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function varint(value: number): Buffer {
  const octets: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    octets.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    if (rest <= 0x7f) return Buffer.from(octets);
  }
}
