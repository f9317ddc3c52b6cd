import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { packageRoot } from '../src/config/package-root.js';
import { shippedSchema } from '../src/config/load.js';
import { configSchema, renderReference } from '../src/config/reference.js';

/**
 * Writes the files generated from the configuration's schema. With --check it only names those that are out of date.
 */
const schema = shippedSchema();
const folder = join(packageRoot(), 'docs', 'reference');
const schemaFile = join(folder, 'config.schema.json');
const style = await resolveConfig(schemaFile);
const documents = new Map([
  [schemaFile, await format(JSON.stringify(configSchema(schema)), { ...style, parser: 'json' })],
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
