import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { Connection } from '../../lab/bench/connection.js';

describe('a connection of the bench', () => {
  it.each([
    ['begin', (connection: Connection) => connection.begin('a request')],
    ['until', (connection: Connection) => connection.until('a request', 'a text')],
    ['request', (connection: Connection) => connection.request('a request')],
  ])('rejects %s when the server closes it, before the request and after it', async (_name, send) => {
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const open = async () => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const connection = await Connection.open(port);
      const [socket] = await accepted;
      return { connection, socket };
    };

    const busy = await open();
    busy.socket.once('data', () => busy.socket.destroy());
    await expect(send(busy.connection)).rejects.toThrow('the server closed the connection');

    const unused = await open();
    const gone = once(unused.socket, 'close');
    unused.socket.resume().end();
    await gone;
    await new Promise(setImmediate); // until the client has heard of it
    await expect(send(unused.connection)).rejects.toThrow('the server closed the connection');
  });

  it('begins with the first bytes of a response', async () => {
    await using server = createServer(
      (socket) => void socket.once('data', () => socket.write('first')),
    ).listen(0);
    await once(server, 'listening');
    const connection = await Connection.open((server.address() as AddressInfo).port);
    await connection.begin('a request');
    connection.close();
  });
});
