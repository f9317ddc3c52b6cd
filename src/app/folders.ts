import type { Config } from '../config/config.js';
import { makeFolder } from '../config/private-file.js';
import { LangoError, errorText } from '../core/errors.js';

/** Makes the data folder and the workspace. Throws `storage` with advice. */
export async function prepareFolders(config: Config): Promise<void> {
  for (const folder of [config.home, ...config.workspace]) {
    try {
      await makeFolder(folder);
    } catch (error) {
      throw new LangoError('storage', `The folder ${folder} cannot be made: ${errorText(error)}.`, {
        hint: 'Set LANGO_HOME, or workspace in the configuration, to a folder that you can write to.',
        cause: error,
      });
    }
  }
}
