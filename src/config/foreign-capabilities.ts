import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { assertForeign, type Capability } from '../core/capability.js';
import { LangoError, errorText } from '../core/errors.js';

/**
 * Loads the capabilities of the packages that the configuration names. Each package exports one as `capability`. Rejects
 * with `invalid-config` for a package that is missing, fails to load, or exports none.
 */
export async function loadCapabilities(names: unknown, folder: string): Promise<readonly Capability[]> {
  if (!Array.isArray(names)) return [];
  return Promise.all(names.map((name) => loadCapability(String(name), folder)));
}

async function loadCapability(name: string, folder: string): Promise<Capability> {
  const hint = `Install it beside the configuration file: npm install --prefix ${folder} ${name}`;
  let loaded: { readonly capability?: Capability };
  try {
    const file = createRequire(join(folder, 'config.yaml')).resolve(name);
    loaded = (await import(pathToFileURL(file).href)) as typeof loaded;
  } catch (error) {
    throw new LangoError('invalid-config', `capabilities: ${name} cannot be loaded: ${errorText(error)}`, {
      hint,
      cause: error,
    });
  }
  const { capability } = loaded;
  if (capability === undefined)
    throw new LangoError('invalid-config', `capabilities: ${name} exports no capability.`, {
      hint: 'It must export one by the name "capability", made with defineCapability.',
    });
  assertForeign(capability);
  return capability;
}
