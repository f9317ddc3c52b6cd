import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { packageRoot } from '../src/config/package-root.js';
import { shippedSchema } from '../src/config/load.js';
import { configSchema, renderReference } from '../src/config/reference.js';
import { caseFileJsonSchema } from '../src/evals/case-file.js';
import { taskFileJsonSchema } from '../src/replay/task-file.js';
import { renderCaseReference } from './case-reference.js';

/**
 * Writes the files generated from the schemas of the configuration, of exported tasks and of cases. With --check it only names those
 * that are out of date.
 */
const schema = shippedSchema();
const folder = join(packageRoot(), 'docs', 'reference');
const schemaFile = join(folder, 'config.schema.json');
const style = await resolveConfig(schemaFile);
const pretty = (value: unknown) => format(JSON.stringify(value), { ...style, parser: 'json' });
const documents = new Map([
  [schemaFile, await pretty(configSchema(schema))],
  [join(folder, 'task-file.schema.json'), await pretty(taskFileJsonSchema())],
  [join(folder, 'evaluations.schema.json'), await pretty(caseFileJsonSchema())],
  [join(folder, 'evaluations.md'), renderCaseReference(caseFileJsonSchema())],
  [join(folder, 'configuration.md'), renderReference(schema)],
]);

for (const [file, text] of documents) {
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
    console.log(`wrote ${file}`);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${file} is stale: run npm run schema`);
    process.exitCode = 1;
  }
}
