import { connect, createServer, type Socket } from 'node:net';

/** A network between a client and a server that can be cut, slowed down and held up. */
export type Network = {
  readonly port: number;
  /** What passes takes so long. */
  delayMs: number;
  /** Nothing passes any more, and nobody is told. */
  isHeldUp: boolean;
  /** After so many bytes from the server the connections are cut, once. */
  cutAfterBytes: number;
  readonly cut: () => void;
  readonly close: () => void;
};

/** Passes everything on to a port of this machine. */
export async function networkTo(port: number): Promise<Network> {
  const sockets = new Set<Socket>();
  const network = { delayMs: 0, isHeldUp: false, cutAfterBytes: Number.POSITIVE_INFINITY };
  const server = createServer((client) => {
    const there = connect(port, '127.0.0.1');
    const pass = (from: Socket, to: Socket, count: (bytes: number) => void) => {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (network.isHeldUp) return;
        count(chunk.length);
        if (network.delayMs === 0) to.write(chunk);
        else setTimeout(() => to.writable && to.write(chunk), network.delayMs);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    };
    pass(client, there, () => {});
    pass(there, client, (bytes) => {
      network.cutAfterBytes -= bytes;
      if (network.cutAfterBytes >= 0) return;
      network.cutAfterBytes = Number.POSITIVE_INFINITY;
      client.resetAndDestroy();
    });
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  const own = await promise;
  return Object.assign(network, {
    port: own,
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}
