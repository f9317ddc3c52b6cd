import { LangoError, errorText } from '../core/errors.js';
import { finding, type Finding, type Path } from '../core/findings.js';
import { folderProblem, makeFolder } from '../disk/private-file.js';
import type { Logger } from '../core/logger.js';
import type { Config } from './config.js';
import { isWritableByAll } from './risks.js';

/** Warns of a data folder and a configuration file that every user of the machine can change. */
export function warnOfWritable({ home, file = home }: Pick<Config, 'home' | 'file'>, logger: Logger): void {
  for (const path of new Set([home, file])) {
    if (!isWritableByAll(path)) continue;
    const hint = `Run: chmod o-w ${path}`;
    logger.warn('every user of this machine can change the data or the configuration', { path, hint });
  }
}

/** Makes the data folder and the workspace. Rejects with `storage` when one cannot be made. */
export async function prepareFolders(config: Config): Promise<void> {
  for (const folder of [config.home, ...config.workspace]) {
    try {
      await makeFolder(folder);
    } catch (cause) {
      const hint = 'Set LANGO_HOME, or workspace in the configuration, to a folder that you can write to.';
      const text = `The folder ${folder} cannot be made: ${errorText(cause)}.`;
      throw new LangoError('storage', text, { hint, cause });
    }
  }
}

/** Finds problems of the folders that `prepareFolders` makes. Makes none of them. */
export async function folderFindings({ home, workspace }: Config): Promise<readonly Finding[]> {
  const at = async (path: Path, folder: string): Promise<readonly Finding[]> => {
    const problem = await folderProblem(folder);
    return problem ? finding(path, `is wrong: ${problem}; choose a folder that you can write to`) : [];
  };
  const inHome = await at(['LANGO_HOME'], home);
  if (inHome.length > 0) return inHome;
  return (await Promise.all(workspace.map((folder, index) => at(['workspace', index], folder)))).flat();
}
