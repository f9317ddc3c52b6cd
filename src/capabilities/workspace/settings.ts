import { z } from 'zod';
import { KIB, MIB, choice, count, flag, group, list, seconds, variableName } from '../../core/fields.js';

const fsTools = group('Reading and writing files of the workspace.', {
  enabled: flag(true, 'Offer the file tools.'),
  maxReadBytes: count(
    48 * KIB,
    'The most bytes that one call reads from a file. A value above `agent.limits.toolOutputBytes` has no effect.',
  ),
  maxWriteBytes: count(10 * MIB, 'The largest file that a tool writes, in bytes.'),
});

const execTools = group('Running commands.', {
  enabled: flag(true, 'Offer the command tools.'),
  sandbox: choice(
    ['auto', 'required', 'off'],
    'auto',
    '`auto`: commands run in a sandbox; without one on this machine, each command is a dangerous call and waits for approval. `required`: without a sandbox, commands are refused. `off`: no sandbox; each command is a dangerous call.',
  ),
  network: flag(false, 'Commands in the sandbox may use the network.'),
  envAllow: list(z.array(variableName()), 'Environment variables of the server that commands may see.'),
  timeoutSeconds: seconds(120, 'The longest time of one command. A call may ask for less.'),
  cpuSeconds: count(60, 'The processor time of one process, in seconds.'),
  memoryMb: count(1024, 'The memory of one process, in megabytes.'),
  processes: count(128, 'The most processes at once.'),
  outputBytes: count(
    24 * KIB,
    'The most output kept of each stream of a command, in bytes. Of longer output the middle is left out.',
  ),
});

const httpTools = group('Requests to services, with secrets in their headers.', {
  enabled: flag(true, 'Offer `http_request`.'),
  timeoutSeconds: seconds(60, 'The longest time of one request with its response.'),
  answerBytes: count(1 * MIB, 'The largest response, in bytes. A longer one is an error.'),
});

export const WORKSPACE_SETTINGS = { 'tools.fs': fsTools, 'tools.exec': execTools, 'tools.http': httpTools };
