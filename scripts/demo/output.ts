/** Collects everything that this process writes from now on. Returns a function that returns it. */
export function recordOutput(): () => string {
  const written: Buffer[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    stream.write = (chunk: string | Uint8Array, ...rest: []) => {
      written.push(Buffer.from(chunk));
      return write(chunk, ...rest);
    };
  }
  return () => Buffer.concat(written).toString('latin1');
}
